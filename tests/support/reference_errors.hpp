#pragma once

// Golden vectors of errors say what the reference complained about. The same complaint is expected
// here, in other words.

#include <nlohmann/json.hpp>

#include <array>
#include <initializer_list>
#include <mdstream/core/error.hpp>
#include <string>
#include <string_view>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace support {

struct complaint {
  std::string_view reference;              // a piece of its message
  std::array<std::string_view, 4> ours{};  // one of these has to stand in ours
};

inline constexpr std::array complaints{
    complaint{"adequate number of samples", {"too few samples for one batch"}},
    complaint{"portion of this stream", {"has no share in a global batch"}},
    complaint{"num_canonical_nodes must be divisible", {"canonical nodes"}},
    complaint{"Resuming further into the dataset", {"resuming at sample"}},
    complaint{"Either canonical or physical nodes", {"one must divide the other"}},
    complaint{"are not being used", {"has no share in a block"}},
    complaint{"assigned to a canonical node is 0",
              {"has no samples", "too few samples", "block size"}},
    complaint{"high <= 0", {"block size", "no integer lies", "too few samples", "has no samples"}},
    complaint{"evenly divisible by the initial", {"cannot be dealt"}},
    complaint{"need at least one array", {"no samples"}},
    complaint{"could not broadcast", {"too small to be shared"}},
    complaint{"Replication factor must be positive", {"replication 0 does not divide"}},
    complaint{"divisible by your replication", {"does not divide", "replication"}},
    complaint{"Only provide `choose` when weighting", {"goes with proportions"}},
    complaint{"stream weights are incompatible", {"all streams have a proportion"}},
    complaint{"At most one of `proportion`", {"at most one of proportion"}},
    complaint{"`proportion` must be non-negative", {"is not a number from 0 up"}},
    complaint{"`repeat` must be non-negative", {"is not a number from 0 up"}},
    // A negative number comes as one from 2^63 up.
    complaint{"`choose` must be", {"beyond 2^63", "exceeds 2^63"}},
    complaint{"`granularity` must be", {"granularity"}},
    complaint{"`seed` must be", {"beyond 2^63"}},
    complaint{"`epoch` must be", {"beyond 2^63"}},
};

/// Runs `run`, which has to be refused for what the reference refused it for: `refused` is {type,
/// msg}.
template <class F>
void expect_same_refusal(F&& run, const nlohmann::json& refused) {
  const auto message = refused.at("msg").get<std::string>();
  const auto failure = error_of(run);
  INFO("the reference says: " << message);
  REQUIRE(failure.has_value());
  const std::string text = failure->what();
  INFO("here: " << text);
  CHECK(failure->code() == mdstream::errc::invalid_argument);
  bool known = false, same = false;
  for (const complaint& each : complaints) {
    if (message.find(each.reference) == std::string::npos) continue;
    known = true;
    for (const std::string_view piece : each.ours)
      same = same || (!piece.empty() && text.find(piece) != std::string::npos);
  }
  CHECK(known);
  CHECK(same);
}

}  // namespace support
