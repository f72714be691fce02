// A writer whose process is killed leaves what the next one completes.

#include <mdstream/codec/none.hpp>
#include <mdstream/hash/choice.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/writer/writer.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/in_child.hpp"

namespace writer_kill_test {

namespace mds = mdstream;

/// Kills its process before or after a write, of which the index is the last.
struct killing : mds::store::local {
  killing(const std::string& root, int writes, bool kills_before)
      : mds::store::local(root),
        left(std::make_shared<std::atomic<int>>(writes)),
        before(kills_before) {}
  void write(std::string_view key, mds::bytes_view bytes) const {
    counted([&] { mds::store::local::write(key, bytes); });
  }
  void publish(std::string_view key, mds::bytes_view bytes) const {
    counted([&] { mds::store::local::publish(key, bytes); });
  }
  template <class Call>
  void counted(const Call& call) const {
    const bool ends = --*left == 0;
    if (ends && before) ::raise(SIGKILL);
    call();
    if (ends) ::raise(SIGKILL);
  }

  std::shared_ptr<std::atomic<int>> left;
  bool before;
};

template <class Store>
using policies = mds::policies<Store, mds::schema<mds::column<"number", std::int64_t>>>;

/// Goes on with what is there; how many samples that was.
template <class Store>
std::uint64_t write_all(const Store& store, unsigned workers) {
  mds::writer<policies<Store>> out({.out = store,
                                    .size_limit = 400,
                                    .max_workers = workers,
                                    .existing = mds::existing_dataset::resume});
  const std::uint64_t kept = out.kept_samples();
  for (std::uint64_t i = kept; i < 500; ++i) out.write(static_cast<std::int64_t>(i));
  out.finish();
  return kept;
}

}  // namespace writer_kill_test

TEST_CASE("a writer whose process was killed at any write goes on to the same files",
          "[writer][resume]") {
  using namespace writer_kill_test;
  const unsigned workers = GENERATE(0U, 3U);
  const bool before = GENERATE(false, true);
  const scratch_directory::scratch whole_directory;
  const mds::store::local whole(whole_directory.path());
  REQUIRE(write_all(whole, 0) == 0);
  const auto objects = whole.list("");
  REQUIRE(objects.size() > 10);
  for (int writes = 1; writes <= static_cast<int>(objects.size()); ++writes) {
    CAPTURE(workers, before, writes);
    const scratch_directory::scratch directory;
    const pid_t child = support::fork_child([&] {
      (void)write_all(killing(directory.path(), writes, before), workers);
      return 0;
    });
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
    const mds::store::local left(directory.path());
    const bool has_index = mds::exists(left, "index.json");
    CHECK(has_index == (!before && writes == static_cast<int>(objects.size())));
    const std::uint64_t kept = write_all(left, workers);
    if (workers == 0 && writes > 1) CHECK(kept > 0);
    for (const auto& each : objects)
      CHECK(mds::as_text(mds::read_all(left, each.key)) ==
            mds::as_text(mds::read_all(whole, each.key)));
  }
}
