// The fuzz targets of the files by which the processes of a cache directory work together.

#include <mdstream/cache/detail/journal.hpp>
#include <mdstream/cache/detail/members.hpp>
#include <mdstream/cache/detail/stream_origin.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "fuzz/refusal.hpp"
#include "fuzz/targets.hpp"

namespace fuzz {

namespace detail = mdstream::detail;

namespace {

/// A directory of this process for one file.
class one_file {
 public:
  one_file() {
    if (::mkdtemp(directory_.data()) == nullptr) std::abort();
  }
  one_file(const one_file&) = delete;
  one_file& operator=(const one_file&) = delete;
  ~one_file() { std::filesystem::remove_all(directory_); }

  [[nodiscard]] const std::string& directory() const noexcept { return directory_; }

  /// The file with these bytes, open for reading and writing.
  [[nodiscard]] mdstream::detail::unique_fd write(std::string_view bytes) const {
    const std::string path = this->path();
    auto file = detail::open_file(path, O_RDWR | O_CREAT | O_TRUNC);
    detail::write_at(file.get(), 0, mdstream::as_bytes(bytes), path);
    return file;
  }
  [[nodiscard]] std::string path() const { return directory_ + "/1-of_another"; }

 private:
  std::string directory_ = "/tmp/mdstream-fuzz-XXXXXX";
};

}  // namespace

void journal(std::string_view input) {
  static const one_file scratch_file;
  (void)scratch_file.write(input);
  allow_refusal([&] {
    detail::cache_journal read(scratch_file.path());
    if (!read.read()) return;
    require(read.records_from(0).size() == read.head.records);
    require(read.records_from(read.head.records / 2).size() <= read.head.records);
    require(read.records_from(~std::uint64_t{0}).empty());
  });
}

void member(std::string_view input) {
  static const one_file scratch_file;
  const auto file = scratch_file.write(input);
  allow_refusal([&] {
    // Locked as the file of a live process is.
    require(detail::try_lock_file(file.get(), detail::lock_kind::exclusive, scratch_file.path()));
    const detail::cache_members members(scratch_file.directory(), {}, {},
                                        {.boot = 1, .local_disk = true});
    require(members.streams_of_others().size() * 8 <= input.size());
    require(members.uses_of_others().size() * 8 <= input.size());
    require(members.survey([](std::string_view) {}).alive <= 1);
  });
}

void origin(std::string_view input) {
  const auto read = detail::parse_origin(input);
  if (!read) return;
  const std::string text = detail::text_of_origin(*read);
  const auto again = detail::parse_origin(text);
  require(again && detail::text_of_origin(*again) == text);
}

}  // namespace fuzz
