#pragma once

/// What a copy has to bring where: URLs taken apart into stores and keys.

#include <mdstream/async/runtime.hpp>
#include <mdstream/store/full.hpp>

#include "patience.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace cli {

namespace mds = mdstream;

/// A URL of one object: the store that it lies in, and its key there.
struct object_place {
  std::string store{}, key{};
};

/// `parent/name`: the last part of a URL is the key. A query stays with the store.
[[nodiscard]] object_place parent_and_name(const std::string& url);

/// The whole path of a URL is the key, that of a local path without its first slash.
[[nodiscard]] object_place root_and_key(const std::string& url);

/// One object to copy.
struct copy_item {
  std::string store{};                   ///< URL of the store it comes from
  std::string from{}, to{};              ///< keys
  std::optional<std::uint64_t> bytes{};  ///< where the store told
  std::string digest{};                  ///< where it told this too
};

struct copy_plan {
  std::string destination{};  ///< URL of the store that all goes to
  std::vector<copy_item> items{};
};

/// One object, or a directory with all that is beneath it: where a URL names both, the object if it
/// has bytes, unless the URL ends with `/`. One object goes to `destination/` under its own name
/// where that is a directory, else under that name. It is looked at without a listing, which its
/// keys may not allow. Throws mds::error where there is neither.
[[nodiscard]] copy_plan plan_copy(mds::runtime& threads, const std::string& source,
                                  const std::string& destination, const store_patience& patience,
                                  const std::stop_token& stop);

/// The URLs of a file, a line each; empty lines are left out. Throws mds::error.
[[nodiscard]] copy_plan plan_list(const std::string& file, const std::string& destination);

}  // namespace cli
