#pragma once

// A distant server: two networks of this process's own with a line between them that takes its time
// and loses packets, in user space, for kernels without netem. Needs root and /dev/net/tun.

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

class far_line {
 public:
  enum end { client, server };
  static constexpr const char* addresses[] = {"10.77.0.1", "10.77.0.2"};

  /// `delay`: of a way there and back; `loss`: of a hundred packets, each way.
  far_line(std::chrono::milliseconds delay, double loss) : delay_(delay / 2), loss_(loss) {
    for (const end each : {client, server}) {
      std::thread([this, each] { make(each); }).join();
      if (failure_ != 0)
        throw std::system_error(failure_, std::generic_category(), "no line of its own");
    }
    carrier_ = std::thread([this] { carry(); });
  }
  far_line(const far_line&) = delete;
  far_line& operator=(const far_line&) = delete;
  ~far_line() {
    ended_ = true;
    carrier_.join();
    for (const side& each : sides_) {
      ::close(each.tun);
      ::close(each.network);
    }
  }

  /// While it lives, this thread, and what it starts, is at one end.
  class visit {
   public:
    visit(const far_line& line, end where)
        : home_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
      if (::setns(line.sides_[where].network, CLONE_NEWNET) != 0)
        throw std::system_error(errno, std::generic_category(), "cannot enter a network");
    }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;
    ~visit() {
      (void)::setns(home_, CLONE_NEWNET);
      ::close(home_);
    }

   private:
    int home_;
  };

 private:
  using steady = std::chrono::steady_clock;
  struct packet {
    steady::time_point due;
    std::vector<char> bytes;
  };
  struct side {
    int network = -1, tun = -1;
    std::deque<packet> under_way{};  // from here
  };

  // On a thread of its own, which leaves its network behind.
  void make(end which) {
    side& made = sides_[which];
    (void)::mkdir("/dev/net", 0755);
    (void)::mknod("/dev/net/tun", S_IFCHR | 0600, makedev(10, 200));  // where it is missing
    ifreq request{};
    std::strcpy(request.ifr_name, "far0");
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    ifreq loopback{};
    std::strcpy(loopback.ifr_name, "lo");
    if (::unshare(CLONE_NEWNET) != 0 ||
        (made.network = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) < 0 ||
        (made.tun = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC)) < 0 ||
        ::ioctl(made.tun, TUNSETIFF, &request) != 0) {
      failure_ = errno;
      return;
    }
    const int control = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const auto address = [&](unsigned long verb, const char* text) {
      auto& to = reinterpret_cast<sockaddr_in&>(request.ifr_addr);
      to = {};
      to.sin_family = AF_INET;
      ::inet_pton(AF_INET, text, &to.sin_addr);
      return ::ioctl(control, verb, &request) == 0;
    };
    const auto up = [&](ifreq& device) {
      device.ifr_flags = IFF_UP | IFF_RUNNING;
      return ::ioctl(control, SIOCSIFFLAGS, &device) == 0;
    };
    if (!address(SIOCSIFADDR, addresses[which]) || !address(SIOCSIFNETMASK, "255.255.255.0") ||
        !up(request) || !up(loopback)) {
      failure_ = errno;
    }
    ::close(control);
  }

  void carry() {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> percent(0, 100);
    std::vector<char> buffer(70'000);
    while (!ended_) {
      deliver();
      std::array<pollfd, 2> wait{pollfd{sides_[0].tun, POLLIN, 0},
                                 pollfd{sides_[1].tun, POLLIN, 0}};
      timespec most = until_next();
      ::ppoll(wait.data(), wait.size(), &most, nullptr);
      for (side& from : sides_) {
        for (int k = 0; k < 64; ++k) {
          const ssize_t size = ::read(from.tun, buffer.data(), buffer.size());
          if (size <= 0) break;
          if (percent(random) < loss_) continue;
          from.under_way.push_back(
              {steady::now() + delay_, {buffer.begin(), buffer.begin() + size}});
        }
      }
    }
  }
  void deliver() {
    const auto now = steady::now();
    for (const int which : {0, 1}) {
      auto& queue = sides_[static_cast<std::size_t>(which)].under_way;
      const int to = sides_[static_cast<std::size_t>(1 - which)].tun;
      for (; !queue.empty() && queue.front().due <= now; queue.pop_front())
        (void)!::write(to, queue.front().bytes.data(), queue.front().bytes.size());
    }
  }
  [[nodiscard]] timespec until_next() const {
    std::chrono::nanoseconds least = std::chrono::milliseconds(50);
    for (const side& each : sides_)
      if (!each.under_way.empty())
        least = std::min<std::chrono::nanoseconds>(
            least, std::max<std::chrono::nanoseconds>(each.under_way.front().due - steady::now(),
                                                      std::chrono::nanoseconds(0)));
    return {0, static_cast<long>(least.count())};
  }

  const std::chrono::milliseconds delay_;
  const double loss_;
  std::array<side, 2> sides_{};
  int failure_ = 0;
  std::atomic<bool> ended_{false};
  std::thread carrier_{};
};

}  // namespace bench
