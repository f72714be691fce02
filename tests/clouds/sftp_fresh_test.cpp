#include <mdstream/store/sftp.hpp>

#include <curl/curl.h>
#include <dlfcn.h>

#include <cstdarg>
#include <cstddef>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

// Requests that libcurl 8.14 to 8.16 fails for a fault of its own: scripted, for other versions
// have no such fault.
namespace clouds_sftp_fresh_test {

namespace mds = mdstream;
using mds::errc;

// What libcurl makes of requests on this thread: how each ends, from the first on, and whether it
// was to have a connection of its own. In their place while there is a script.
struct script {
  std::vector<CURLcode> ends;
  std::vector<bool> fresh{};
  bool next_is_fresh = false;

  explicit script(std::vector<CURLcode> of) : ends(std::move(of)) { current = this; }
  script(const script&) = delete;
  script& operator=(const script&) = delete;
  ~script() { current = nullptr; }

  static inline thread_local script* current = nullptr;
};

TEST_CASE("an empty file that libcurl takes for a broken connection is read on a fresh one",
          "[clouds]") {
  const mds::store::sftp store("sftp://somebody@127.0.0.1/files", {.known_hosts = "/dev/null"});
  std::vector<std::byte> into(10);
  const auto read = [&] { return store.read("empty", 0, into); };
  {
    const script two({CURLE_TOO_MANY_REDIRECTS, CURLE_OK});
    CHECK(read() == 0);
    CHECK(two.fresh == std::vector{false, true});
  }
  {
    const script again({CURLE_TOO_MANY_REDIRECTS, CURLE_TOO_MANY_REDIRECTS});
    support::expect_error([&] { (void)read(); }, errc::unavailable, {"files/empty"});
    CHECK(again.fresh.size() == 2);
  }
  {
    const script other({CURLE_SEND_ERROR});  // retries are the caller's
    support::expect_error([&] { (void)read(); }, errc::unavailable, {"files/empty"});
    CHECK(other.fresh.size() == 1);
  }
}

}  // namespace clouds_sftp_fresh_test

// In the place of libcurl's.
extern "C" CURLcode(curl_easy_perform)(CURL* easy) {
  using function = CURLcode (*)(CURL*);
  static const auto real = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "curl_easy_perform"));
  auto* const of = clouds_sftp_fresh_test::script::current;
  if (of == nullptr) return real(easy);
  of->fresh.push_back(std::exchange(of->next_is_fresh, false));
  return of->ends.at(of->fresh.size() - 1);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wvarargs"  // libcurl's own declaration has the enumeration there
extern "C" CURLcode(curl_easy_setopt)(CURL* easy, CURLoption option, ...) {
  using function = CURLcode (*)(CURL*, CURLoption, ...);
  static const auto real = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "curl_easy_setopt"));
  va_list values;
  va_start(values, option);
  void* const value = va_arg(values, void*);  // each kind of value is passed as a pointer is
  va_end(values);
  auto* const of = clouds_sftp_fresh_test::script::current;
  if (of != nullptr && option == CURLOPT_FRESH_CONNECT) of->next_is_fresh = value != nullptr;
  return real(easy, option, value);
}
#pragma GCC diagnostic pop
