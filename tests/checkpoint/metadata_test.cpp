// The texts that a program saves with its checkpoints.

#include <mdstream/checkpoint/metadata.hpp>
#include <mdstream/checkpoint/options.hpp>

#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"

namespace mds = mdstream;

TEST_CASE("texts of a checkpoint are found by name, the first of several", "[checkpoint]") {
  const mds::checkpoint_metadata some{{"loss", "2.5"}, {"guard", "{}"}, {"loss", "3"}};
  CHECK(some.text("loss") == "2.5");
  CHECK(some.text("guard") == "{}");
  CHECK(some.text("los").empty());
  CHECK(mds::checkpoint_metadata().text("loss").empty());
}

TEST_CASE("texts of a checkpoint may be a vector that a program has", "[checkpoint]") {
  std::vector<std::pair<std::string, std::string>> texts{{"loss", "2.5"}};
  const mds::save_options what{.metadata = texts};
  CHECK(what.metadata == texts);
  CHECK(what.metadata.text("loss") == "2.5");
}
