#pragma once

// A real nginx on a free port of 127.0.0.1 that serves one directory, with or without TLS by a
// certificate of its own; ended with the object.

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "free_port.hpp"

namespace support {

struct nginx_options {
  bool tls = false;
  bool http2 = false;        // over TLS
  bool takes_files = false;  // PUT and DELETE
  std::string lines = {};    // more of the server's configuration
};

class nginx {
 public:
  // The program's path.
  static std::string find() {
    for (const char* path : {"/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/sbin/nginx"}) {
      if (::access(path, X_OK) == 0) return path;
    }
    throw std::runtime_error("nginx is not installed: tools/install-deps.sh test installs it");
  }

  // Serves what `data` holds. `state` is an empty directory of its own.
  nginx(const std::filesystem::path& data, std::filesystem::path state, nginx_options options = {})
      : state_(std::move(state)), options_(std::move(options)) {
    std::filesystem::create_directories(state_ / "tmp");
    if (options_.tls) make_certificate();
    for (int attempt = 0; attempt < 5; ++attempt) {  // another may take the port meanwhile
      port_ = free_port();
      write_configuration(data);
      start();
      if (is_up()) return;
      end();
    }
    throw std::runtime_error("nginx does not start: " + (state_ / "error.log").string());
  }
  nginx(const nginx&) = delete;
  nginx& operator=(const nginx&) = delete;
  ~nginx() { end(); }

  [[nodiscard]] std::string url() const {
    return (options_.tls ? "https://localhost:" : "http://127.0.0.1:") + std::to_string(port_);
  }
  [[nodiscard]] std::string ca_file() const { return (state_ / "server.pem").string(); }

 private:
  void make_certificate() const {
    const std::string command =
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost/O=" +
        state_.filename().string() + " -addext subjectAltName=DNS:localhost -keyout " +
        (state_ / "server.key").string() + " -out " + ca_file() + " 2>/dev/null";
    if (std::system(command.c_str()) != 0) throw std::runtime_error("openssl makes no certificate");
  }

  void write_configuration(const std::filesystem::path& data) const {
    const std::string directory = state_.string();
    std::ofstream file(state_ / "nginx.conf");
    file << "daemon off; master_process off; pid " << directory << "/pid; error_log " << directory
         << "/error.log;\nevents { worker_connections 512; }\nhttp { access_log off; "
            "default_type application/octet-stream; sendfile on; keepalive_requests 1000000; "
            "client_max_body_size 0;\n";
    for (const char* kind : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"}) {
      file << kind << "_temp_path " << directory << "/tmp;";
    }
    file << "\nserver { listen 127.0.0.1:" << port_ << (options_.tls ? " ssl" : "")
         << (options_.http2 ? " http2" : "") << ";\n"
         << options_.lines;
    if (options_.takes_files) file << "dav_methods PUT DELETE; create_full_put_path on;\n";
    if (options_.tls) {
      file << "ssl_certificate " << ca_file() << "; ssl_certificate_key " << directory
           << "/server.key;\n";
    }
    // Beside the files themselves: as servers without ranges and without HEAD have them.
    file << "root " << data.string() << ";\nlocation /-norange/ { alias " << data.string()
         << "/; max_ranges 0; }\nlocation /-nohead/ { alias " << data.string()
         << "/; if ($request_method = HEAD) { return 405; } }\n}}\n";
  }

  void start() {
    const std::string program = find(), file = (state_ / "nginx.conf").string();
    const std::string prefix = state_.string() + "/", log = prefix + "error.log";
    process_ = ::fork();
    if (process_ == 0) {
      const int null = ::open("/dev/null", O_RDWR);
      ::dup2(null, 0);
      ::dup2(null, 1);
      ::dup2(null, 2);
      ::execl(program.c_str(), "nginx", "-p", prefix.c_str(), "-e", log.c_str(), "-c", file.c_str(),
              static_cast<char*>(nullptr));
      ::_exit(127);
    }
  }

  // It writes its process into `pid` when it listens, and ends without where the port is another's.
  [[nodiscard]] bool is_up() {
    for (int i = 0; i < 6000; ++i) {
      if (::waitpid(process_, nullptr, WNOHANG) == process_) {
        process_ = -1;
        return false;
      }
      std::error_code absent;
      if (std::filesystem::file_size(state_ / "pid", absent) > 0 && !absent) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  void end() {
    if (process_ <= 0) return;
    ::kill(process_, SIGTERM);
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
  }

  std::filesystem::path state_;
  nginx_options options_;
  unsigned port_ = 0;
  pid_t process_ = -1;
};

}  // namespace support
