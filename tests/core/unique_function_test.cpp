#include <mdstream/core/detail/unique_function.hpp>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "support/catch.hpp"

namespace unique_function_test {

namespace mds = mdstream;

TEST_CASE("a unique function owns what can only be moved, and lets it go", "[core]") {
  auto held = std::make_unique<int>(7);
  const std::weak_ptr<int> watched = [&] {
    auto shared = std::make_shared<int>(1);
    mds::detail::unique_function<int(int)> add = [shared, held = std::move(held)](int more) {
      return *held + *shared + more;
    };
    const std::weak_ptr<int> watch = shared;
    shared.reset();
    CHECK_FALSE(watch.expired());
    mds::detail::unique_function<int(int)> moved = std::move(add);
    CHECK(moved);
    CHECK(moved(2) == 10);
    moved = {};
    CHECK_FALSE(moved);
    return watch;
  }();
  CHECK(watched.expired());
}

TEST_CASE("arguments are passed as the signature says", "[core]") {
  mds::detail::unique_function<void(std::string&, std::unique_ptr<int>)> put =
      [](std::string& into, std::unique_ptr<int> value) { into += std::to_string(*value); };
  std::string out = "n";
  put(out, std::make_unique<int>(3));
  put(out, std::make_unique<int>(4));
  CHECK(out == "n34");

  int calls = 0;
  const auto count = [&calls]() mutable { return ++calls; };
  mds::detail::unique_function<long()> widened = count;  // a copy; its result is converted
  CHECK(widened() == 1);
  CHECK(widened() == 2);
}

TEST_CASE("a unique function takes what can be called so, and cannot be copied", "[core]") {
  using function = mds::detail::unique_function<int(int)>;
  CHECK(std::is_constructible_v<function, int (*)(int)>);
  CHECK(std::is_constructible_v<function, std::negate<>>);
  CHECK_FALSE(std::is_constructible_v<function, int (*)(std::string)>);
  CHECK_FALSE(std::is_constructible_v<function, int>);
  CHECK_FALSE(std::is_copy_constructible_v<function>);
  CHECK(std::is_nothrow_move_constructible_v<function>);
  CHECK_FALSE(function());
}

}  // namespace unique_function_test
