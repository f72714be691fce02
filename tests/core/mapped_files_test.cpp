#include <mdstream/core/detail/mapped_files.hpp>

#include <fcntl.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <thread>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace mapped_files_test {

namespace mds = mdstream;
using mds::detail::mapped_fault;
using mds::detail::mapped_files;
using mds::detail::read_mapped;

// A guarded mapping of a file of ones, which can be cut.
class mapped {
 public:
  static constexpr std::size_t bytes = 64 << 10;

  explicit mapped(mapped_fault fault = mapped_fault::error) : fd_(::mkstemp(path_.data())) {
    REQUIRE(::ftruncate(fd_, bytes) == 0);
    const std::string ones(bytes, '\1');
    REQUIRE(::pwrite(fd_, ones.data(), bytes, 0) == bytes);
    void* const at = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd_, 0);
    REQUIRE(at != MAP_FAILED);
    at_ = static_cast<const std::byte*>(at);
    mapped_files::instance().add(at_, bytes, path_, fault);
  }
  mapped(const mapped&) = delete;
  mapped& operator=(const mapped&) = delete;
  ~mapped() {
    mapped_files::instance().remove(at_);
    ::munmap(const_cast<std::byte*>(at_), bytes);
    ::close(fd_);
    ::unlink(path_.c_str());
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::size_t sum() const {
    std::size_t all = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      all += static_cast<std::size_t>(static_cast<volatile const std::byte*>(at_)[i]);
    }
    return all;
  }
  void cut(std::size_t to) const { REQUIRE(::ftruncate(fd_, static_cast<off_t>(to)) == 0); }

 private:
  std::string path_ = "/tmp/mdstream-mapped-XXXXXX";
  int fd_;
  const std::byte* at_ = nullptr;
};

// The signal that ends a child that does this; 0: none.
template <class F>
int signal_of(F f) {
  const pid_t id = ::fork();
  if (id == 0) {
    ::close(2);
    f();
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(id, &status, 0) == id);
  return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

TEST_CASE("who reads a mapped file that was cut gets an error that names it, each time", "[core]") {
  const mapped whole, cut;
  CHECK(read_mapped([&] { return cut.sum(); }) == mapped::bytes);
  cut.cut(8192);
  for (int i = 0; i < 3; ++i) {
    support::expect_error([&] { (void)read_mapped([&] { return cut.sum(); }); },
                          mds::errc::io_error, {cut.path(), "cut short"});
    CHECK(read_mapped([&] { return whole.sum(); }) == mapped::bytes);
  }
  // Also where the zeros lead to another failure first.
  support::expect_error(
      [&] {
        read_mapped([&] {
          if (cut.sum() != mapped::bytes) throw mds::error(mds::errc::corrupt, "not all ones");
        });
      },
      mds::errc::io_error, {cut.path()});
}

TEST_CASE("no thread believes zeros that another's fault has left", "[core]") {
  for (int round = 0; round < 20; ++round) {
    const mapped file;
    std::atomic<int> wrong{0}, failed{0};
    std::vector<std::thread> readers;
    for (int i = 0; i < 4; ++i) {
      readers.emplace_back([&] {
        while (true) {
          try {
            if (read_mapped([&] { return file.sum(); }) != mapped::bytes) ++wrong;
          } catch (const mds::error&) {
            ++failed;
            return;
          }
        }
      });
    }
    file.cut(4096);
    for (std::thread& each : readers) each.join();
    CHECK(wrong == 0);
    CHECK(failed == 4);
  }
}

TEST_CASE("outside of guarded reading the signal ends the process as ever", "[core]") {
  const mapped file;
  file.cut(4096);
#ifdef __SANITIZE_ADDRESS__
  constexpr int ended = 1;  // the sanitizer's handler was there before: it reports, and exits
#else
  constexpr int ended = SIGBUS;
#endif
  CHECK(signal_of([&] { (void)file.sum(); }) == ended);
  CHECK(signal_of([] { ::raise(SIGBUS); }) == ended);
}

TEST_CASE("a mapping whose owner looks at the file itself has zeros", "[core]") {
  const mapped file(mapped_fault::zeros);
  file.cut(4096);
  CHECK(file.sum() == 4096);
  const mapped other;
  CHECK(read_mapped([&] { return other.sum(); }) == mapped::bytes);
}

}  // namespace mapped_files_test
