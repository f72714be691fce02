// The quickstart in three steps: prepare the datasets, train from them, report.

#include "prepare.hpp"
#include "report.hpp"
#include "train.hpp"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

using namespace quickstart;

constexpr const char* usage =
    "quickstart prepare [--work DIR] [--prose FOLDER]... [--code FOLDER]...\n"
    "quickstart train   [--work DIR] [--run NAME] [--steps N] [--save-every N] [--threads N]\n"
    "                   [--data URL] [--checkpoints URL]... [--cache DIR] [--cache-mb N]\n"
    "                   [--predownload SAMPLES] [--step-limit SECONDS] [--bad-batch N]\n"
    "                   [--leave-out N]\n"
    "quickstart report  [--work DIR] [--run NAME] [--against NAME]\n"
    "quickstart compare [--work DIR] [--run NAME] --against NAME\n"
    "The datasets and checkpoints lie in a folder of DIR, or where QUICKSTART_STORE says, as\n"
    "s3://bucket/prefix; --data and --checkpoints name other places, azure:// and gs:// too. "
    "Ranks\n"
    "of mpirun or srun hand each other gradients by MPI; those of any launcher by TCP, where\n"
    "QUICKSTART_MEETING says host:port of rank 0. SIGTERM and SIGUSR1 ask for the\n"
    "end: the run is saved, and the exit status 75. A step that takes longer than the limit ends\n"
    "the process with status 70. --bad-batch shows what a loss that is no number leads to:\n"
    "back to a checkpoint, from where that batch and --leave-out N - 1 before it are left out.\n";

struct usage_error : std::runtime_error {
  using runtime_error::runtime_error;
};

std::string store_of_environment() {
  const char* const url = std::getenv("QUICKSTART_STORE");
  return url == nullptr ? "" : url;
}

struct arguments {
  places where{.work = "build/quickstart/work", .store_url = store_of_environment()};
  prepare_options prepare;
  train_options train;
  std::string other;  // a run that has to equal the one reported
  bool own_prose = false, own_code = false;
};

std::uint64_t number(const std::string& option, std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw usage_error(option + " takes a number, not '" + std::string(text) + "'");
  }
  return value;
}

// A first --prose or --code takes the place of the default folder, further ones are added.
void add_folder(std::vector<std::filesystem::path>& folders, bool& own, std::string_view folder) {
  if (!own) folders.clear();
  own = true;
  folders.emplace_back(folder);
}

arguments parse(std::span<char* const> words) {
  arguments out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string option = words[i];
    const auto value = [&]() -> std::string_view {
      if (++i == words.size()) throw usage_error(option + " needs a value");
      return words[i];
    };
    if (option == "--work")
      out.where.work = value();
    else if (option == "--data")
      out.where.data_url = value();
    else if (option == "--checkpoints")
      out.where.checkpoint_urls.emplace_back(value());
    else if (option == "--cache")
      out.where.cache_folder = value();
    else if (option == "--prose")
      add_folder(out.prepare.prose, out.own_prose, value());
    else if (option == "--code")
      add_folder(out.prepare.code, out.own_code, value());
    else if (option == "--against")
      out.other = value();
    else if (option == "--run")
      out.train.run = value();
    else if (option == "--steps")
      out.train.steps = number(option, value());
    else if (option == "--save-every")
      out.train.save_every = number(option, value());
    else if (option == "--threads")
      out.train.threads = number(option, value());
    else if (option == "--cache-mb")
      out.train.cache_mb = number(option, value());
    else if (option == "--predownload")
      out.train.predownload = number(option, value());
    else if (option == "--step-limit")
      out.train.step_limit = std::chrono::seconds(number(option, value()));
    else if (option == "--bad-batch")
      out.train.bad_batch = number(option, value());
    else if (option == "--leave-out")
      out.train.leave_out = number(option, value());
    else
      throw usage_error("no option '" + option + "'");
  }
  return out;
}

int run(std::span<char* const> words) {
  if (words.empty()) throw usage_error("what to do?");
  const std::string_view what = words[0];
  const arguments args = parse(words.subspan(1));
  if (what == "prepare") {
    prepare(args.where, args.prepare);
  } else if (what == "train") {
    return train(args.where, args.train);
  } else if (what == "report") {
    report(args.where, args.train.run, args.other);
  } else if (what == "compare") {
    compare(args.where, args.train.run, args.other);
  } else {
    throw usage_error("no step '" + std::string(what) + "'");
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run(std::span(words, static_cast<std::size_t>(count)).subspan(1));
  } catch (const usage_error& e) {
    std::fprintf(stderr, "quickstart: %s\n%s", e.what(), usage);
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "quickstart: error: %s\n", e.what());
    return 1;
  }
}
