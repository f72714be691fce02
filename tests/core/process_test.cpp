#include <mdstream/core/detail/process.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/in_child.hpp"

namespace process_test {

namespace detail = mdstream::detail;

struct thing {
  bool& deleted;
  bool& left;
  ~thing() { deleted = true; }
  void abandon() const { left = true; }
};

TEST_CASE("what was made in another process is not deleted in a forked child") {
  bool deleted = false, left = false;
  auto it = detail::make_where_made<thing>(deleted, left);
  CHECK(support::in_child([&] {
          it.reset();
          return !deleted && left ? 0 : 1;
        }) == 0);
  it.reset();
  CHECK(deleted);
  CHECK_FALSE(left);
}

TEST_CASE(
    "the id of a process is its own in children of children, also where no handler of fork runs") {
  const auto is_own = [] { return detail::process_id() == ::getpid(); };
  CHECK(is_own());
  CHECK(support::in_child([&] {
          return is_own() && support::in_child([&] { return is_own() ? 0 : 1; }) == 0 ? 0 : 1;
        }) == 0);
  CHECK(detail::process_id(nullptr) == ::getpid());  // where the kernel keeps no such page
  const pid_t parent = detail::process_id();
  const long child = ::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) ::_exit(is_own() && detail::process_id() != parent ? 0 : 1);
  REQUIRE(child > 0);
  int status = -1;
  REQUIRE(::waitpid(static_cast<pid_t>(child), &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a call in a forked child is refused with both processes") {
  const detail::maker made;
  made.require_here("loader");
  CHECK(support::in_child([&] {
          try {
            made.require_here("loader");
          } catch (const mdstream::error& e) {
            const std::string text = e.what();
            const bool named = text.find(std::to_string(::getppid())) != std::string::npos &&
                               text.find(std::to_string(::getpid())) != std::string::npos &&
                               text.find("make another loader") != std::string::npos;
            return e.code() == mdstream::errc::unsupported && named ? 0 : 1;
          }
          return 2;
        }) == 0);
}

TEST_CASE(
    "a lock of a descriptor that is this process's alone ends with it, not with its children") {
  const scratch_directory::scratch dir;
  const std::string path = dir / "lock";
  const auto open = [&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600); };
  const int fd = detail::own_descriptors::add(open);
  REQUIRE(::flock(fd, LOCK_EX) == 0);
  int gate[2], ready[2];
  REQUIRE(::pipe(gate) == 0);
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = support::fork_child([&] {
    char byte = 0;
    ::close(gate[1]);
    (void)!::write(ready[1], &byte, 1);
    (void)!::read(gate[0], &byte, 1);  // until the other process closes its end
    // The number is in use still, so that closing it closes no other file.
    const int next = ::open("/dev/null", O_RDONLY);
    return next != fd && ::close(fd) == 0 ? 0 : 1;
  });
  char byte = 1;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  const int other = open();
  CHECK(::flock(other, LOCK_EX | LOCK_NB) != 0);
  detail::own_descriptors::close(fd);
  CHECK(::flock(other, LOCK_EX | LOCK_NB) == 0);  // though the child is still there
  ::close(other);
  for (const int each : {gate[0], gate[1], ready[0], ready[1]}) ::close(each);
  CHECK(support::status_of(child) == 0);
}

}  // namespace process_test
