// audio DIRECTORY [THREADS]: streams the sounds in DIRECTORY/files as they lie; without any there,
// writes some.
//
// A sample is a file of any format that libsndfile reads. The loader's threads decode it, mix its
// channels, bring it to 16 kHz and to one second: longer ones are cut, shorter ones padded with
// silence.

#include <mdstream/mdstream.hpp>
#include <mdstream/source/formats.hpp>

#include <sndfile.h>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <numbers>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace mds = mdstream;

using sounds = mds::schema<mds::column<"file", mds::bytes>, mds::column<"path", mds::str>>;

/// The frames of a sound file in memory, each the mean of its channels.
class decoded_sound {
 public:
  explicit decoded_sound(mds::bytes_view file) {
    memory in{file, 0};
    SF_VIRTUAL_IO calls{length, seek, read, nullptr, tell};
    SF_INFO info{};
    const std::unique_ptr<SNDFILE, int (*)(SNDFILE*)> sound(
        sf_open_virtual(&calls, SFM_READ, &info, &in), &sf_close);
    if (sound == nullptr) throw std::runtime_error(sf_strerror(nullptr));
    rate_ = info.samplerate;
    const auto channels = static_cast<std::size_t>(info.channels);
    std::vector<float> block(1024 * channels);
    while (const auto frames = sf_readf_float(sound.get(), block.data(), 1024)) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(frames); ++i) {
        float sum = 0.0F;
        for (std::size_t c = 0; c < channels; ++c) sum += block[i * channels + c];
        frames_.push_back(sum / static_cast<float>(channels));
      }
    }
  }

  /// Fills `out` at another rate, between the frames by straight lines: enough for an example,
  /// while a trainer's resampler filters what the lower rate cannot hold. Returns how many were
  /// there.
  std::size_t resample(double rate, std::span<float> out) const {
    const double step = rate_ / rate;
    const auto there = static_cast<std::size_t>(static_cast<double>(frames_.size()) / step);
    const std::size_t count = std::min(there, out.size());
    for (std::size_t i = 0; i < count; ++i) {
      const double at = static_cast<double>(i) * step;
      const auto left = static_cast<std::size_t>(at);
      const std::size_t right = std::min(left + 1, frames_.size() - 1);
      const auto part = static_cast<float>(at - static_cast<double>(left));
      out[i] = (1 - part) * frames_[left] + part * frames_[right];
    }
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(count), out.end(), 0.0F);
    return count;
  }

 private:
  struct memory {
    mds::bytes_view file;
    sf_count_t at;
  };
  static sf_count_t length(void* user) {
    return static_cast<sf_count_t>(static_cast<memory*>(user)->file.size());
  }
  static sf_count_t tell(void* user) { return static_cast<memory*>(user)->at; }
  static sf_count_t seek(sf_count_t to, int from, void* user) {
    const sf_count_t begin = from == SEEK_SET ? 0 : from == SEEK_CUR ? tell(user) : length(user);
    return static_cast<memory*>(user)->at = std::clamp(begin + to, sf_count_t{0}, length(user));
  }
  static sf_count_t read(void* into, sf_count_t count, void* user) {
    auto& in = *static_cast<memory*>(user);
    const sf_count_t got = std::clamp(count, sf_count_t{0}, length(user) - in.at);
    std::memcpy(into, in.file.data() + in.at, static_cast<std::size_t>(got));
    in.at += got;
    return got;
  }

  double rate_ = 0;
  std::vector<float> frames_;
};

struct decode {
  static constexpr std::size_t rate = 16000;
  using output =
      mds::schema<mds::column<"wave", mds::ndarray<float, rate>>, mds::column<"length", mds::int_>>;

  void operator()(const mds::sample_view<sounds>& in, mds::sample_writer<output>& out,
                  mds::sample_generator&) const {
    std::vector<float> wave(rate);
    const std::size_t length = decoded_sound(in.get<"file">()).resample(rate, wave);
    out.write(wave, static_cast<std::int64_t>(length));
  }
};

using policies =
    mds::policies<sounds, mds::raw::any_format<mds::raw::files>, decode, mds::collate::dense>;

/// Tones of 220 to 880 Hz as 16-bit FLAC and as float WAV, of half a second and of two.
void write_tones(const std::string& folder) {
  std::filesystem::create_directories(folder);
  for (int i = 0; i < 12; ++i) {
    const bool is_flac = i % 2 == 0;
    SF_INFO info{};
    info.samplerate = i % 3 == 0 ? 44100 : 22050;
    info.channels = 1 + i % 2;
    info.format = is_flac ? SF_FORMAT_FLAC | SF_FORMAT_PCM_16 : SF_FORMAT_WAV | SF_FORMAT_FLOAT;
    const std::string path = folder + "/" + std::to_string(i) + (is_flac ? ".flac" : ".wav");
    const std::unique_ptr<SNDFILE, int (*)(SNDFILE*)> sound(sf_open(path.c_str(), SFM_WRITE, &info),
                                                            &sf_close);
    if (sound == nullptr) throw std::runtime_error(sf_strerror(nullptr));
    const double hertz = 220 + 60 * i;
    const int frames = i % 4 == 0 ? info.samplerate / 2 : 2 * info.samplerate;
    std::vector<float> all;
    for (int k = 0; k < frames; ++k)
      all.insert(
          all.end(), static_cast<std::size_t>(info.channels),
          0.5F * static_cast<float>(std::sin(2 * std::numbers::pi * hertz * k / info.samplerate)));
    sf_writef_float(sound.get(), all.data(), frames);
  }
}

/// The pitch of a tone: half as many waves as it passes zero.
double pitch_of(std::span<const float> wave) {
  std::size_t passes = 0;
  for (std::size_t i = 1; i < wave.size(); ++i)
    passes += (wave[i - 1] < 0) != (wave[i] < 0) ? 1U : 0U;
  return static_cast<double>(passes) / 2 * decode::rate / static_cast<double>(wave.size());
}

int main(int count, char** words) try {
  if (count < 2) return std::fputs("usage: audio DIRECTORY [THREADS]\n", stderr), 2;
  const std::string directory = words[1], files = directory + "/files";
  if (!std::filesystem::exists(files)) write_tones(files);
  mds::loader<policies> loader(
      {.streams = {{.remote = files,
                    .raw = {.format = "files", .columns = {{"file", "bytes"}, {"path", "str"}}}}},
       .local = directory + "/cache",
       .batch_size = 4,
       .threads = count > 2 ? static_cast<unsigned>(std::atoi(words[2])) : 0});
  std::size_t samples = 0;
  double lowest = decode::rate, highest = 0;
  for (auto& batch : loader.epoch()) {
    const auto waves = batch.get<"wave">();  // shape {4, 16000}
    const auto lengths = batch.get<"length">();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const double pitch = pitch_of(waves[i].first(static_cast<std::size_t>(lengths[i])));
      lowest = std::min(lowest, pitch);
      highest = std::max(highest, pitch);
    }
    samples += batch.size();
  }
  std::printf("%zu sounds of %.0f to %.0f Hz\n", samples, lowest, highest);
} catch (const std::exception& e) {
  std::fprintf(stderr, "audio: error: %s\n", e.what());
  return 1;
}
