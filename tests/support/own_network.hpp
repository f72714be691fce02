#pragma once

// A network of this process's own, whose names and addresses move as a test says: a network
// namespace with only a loopback, and files of its own over /etc/hosts and /etc/nsswitch.conf.
// Needs root.

#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <sched.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace support {

class own_network {
 public:
  /// Moves this thread, and those that it starts from now on, into the network. Ends the program as
  /// a skipped test where the kernel forbids it. There is one, until the process ends.
  static own_network& enter() {
    static own_network only;
    return only;
  }

  /// From now on names have these addresses: lines as of /etc/hosts. Others do not resolve.
  void set_names(const std::string& lines) const {
    std::ofstream out(hosts_, std::ios::trunc);
    if (!(out << lines << std::flush)) throw std::runtime_error("the file of names is not written");
  }

  /// Addresses of this machine besides 127.0.0.1 to 127.255.255.255, at most 9 at a time.
  /// One that is taken away is gone silently: what is sent to it is lost.
  void add_address(const std::string& address) { set_address(address, true); }
  void take_address_away(const std::string& address) { set_address(address, false); }

 private:
  own_network() {
    if (::unshare(CLONE_NEWNET | CLONE_NEWNS) != 0) skip("unshare");
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) skip("mount");
    char directory[] = "/tmp/mdstream-network-XXXXXX";
    if (::mkdtemp(directory) == nullptr) skip("mkdtemp");
    if (::mount("none", directory, "tmpfs", 0, "mode=755") != 0) skip("mount of a tmpfs");
    hosts_ = std::string(directory) + "/hosts";
    set_names("");
    const std::string services = std::string(directory) + "/nsswitch.conf";
    std::ofstream(services) << "hosts: files\n";
    lay_over(hosts_, "/etc/hosts");
    lay_over(services, "/etc/nsswitch.conf");
    (void)::umount2(directory, MNT_DETACH);  // the two stay where they are laid over
    (void)::rmdir(directory);
    hosts_ = "/etc/hosts";
    up("lo");
  }

  [[noreturn]] static void skip(const char* what) {
    std::fprintf(stderr, "skipped: no network of its own: %s: %s\n", what, std::strerror(errno));
    std::_Exit(77);
  }

  static void lay_over(const std::string& file, const char* path) {
    if (::mount(file.c_str(), path, nullptr, MS_BIND, nullptr) != 0) skip(path);
  }

  static void control(unsigned long verb, ifreq& request) {
    const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const int result = ::ioctl(socket, verb, &request);
    const int failure = errno;
    ::close(socket);
    if (result != 0) throw std::system_error(failure, std::generic_category(), request.ifr_name);
  }

  static ifreq interface(const std::string& name) {
    ifreq out{};
    std::strncpy(out.ifr_name, name.c_str(), IFNAMSIZ - 1);
    return out;
  }

  static void up(const std::string& name) {
    ifreq request = interface(name);
    control(SIOCGIFFLAGS, request);
    request.ifr_flags |= IFF_UP;
    control(SIOCSIFFLAGS, request);
  }

  // The last number of the address names its label of the loopback.
  static void set_address(const std::string& address, bool there) {
    ifreq request = interface("lo:" + address.substr(address.rfind('.') + 1));
    if (there) {
      auto& to = reinterpret_cast<sockaddr_in&>(request.ifr_addr);
      to.sin_family = AF_INET;
      if (::inet_pton(AF_INET, address.c_str(), &to.sin_addr) != 1)
        throw std::runtime_error(address);
      control(SIOCSIFADDR, request);
      // A network by itself: one that is taken away takes others of its network along.
      reinterpret_cast<sockaddr_in&>(request.ifr_netmask).sin_addr.s_addr = INADDR_BROADCAST;
      control(SIOCSIFNETMASK, request);
      return;
    }
    control(SIOCGIFFLAGS, request);
    request.ifr_flags &= static_cast<short>(~IFF_UP);
    control(SIOCSIFFLAGS, request);
  }

  std::string hosts_;
};

}  // namespace support
