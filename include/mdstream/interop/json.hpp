#pragma once

/// Values of `json` columns as nlohmann::json: an example of an encoding of your own. Needs the
/// component `json`, and nlohmann/json 3.
///
///     using policies = mds::policies<mds::schema<mds::column<"meta", mds::nlohmann_json>>>;
///     const mds::dataset<policies> data({.remote = "s3://bucket/c4", .local = "/nvme/cache"});
///     const nlohmann::json meta = data[17].get<"meta">();

#if !__has_include(<nlohmann/json.hpp>)
#error "mdstream::json needs nlohmann/json: apt-get install nlohmann-json3-dev"
#endif

#include <mdstream/core/bytes.hpp>
#include <mdstream/format/own_encoding.hpp>

#include <cmath>
#include <concepts>
#include <stdexcept>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace mdstream::inline v0 {

/// The type of a `json` column whose values are nlohmann::json. Of a column that a schema has as
/// `json_text`, and of one without a schema, `sample.get` gives them as well:
///
///     sample.get<"meta", mds::nlohmann_json>();
///     sample.get<mds::nlohmann_json>("meta");
///
/// Errors: `errc::corrupt`, naming column and byte, for text that is no JSON. That includes `NaN`,
/// `Infinity` and `-Infinity`, which Python's json.dumps writes and nlohmann/json does not read; on
/// writing, `errc::invalid_argument` for numbers that are not finite. `json_text` takes them.
/// Cost: parses the text, each time. Numbers beyond 64 bits become doubles, as in nlohmann/json;
/// `json_text` keeps all digits.
/// In a batch the column is its text, `ragged<char>`.
struct nlohmann_json {
  static constexpr std::string_view name = "json";
  using view = nlohmann::json;

  [[nodiscard]] static view decode(bytes_view value) {
    return nlohmann::json::parse(as_text(value));
  }
  /// Not for what only converts: a `std::string` would be stored as a JSON string.
  template <std::same_as<nlohmann::json> Json>
  [[nodiscard]] static std::string encode(const Json& value) {
    require_finite(value);
    return value.dump(-1, ' ', true);  // characters beyond ASCII are escaped, as Python does
  }

 private:
  /// `dump` would write null in their place.
  static void require_finite(const nlohmann::json& value) {
    if (value.is_number_float() && !std::isfinite(value.get<double>()))
      throw std::domain_error("a number is not finite");
    if (!value.is_structured()) return;
    for (const nlohmann::json& each : value) require_finite(each);
  }
};

}  // namespace mdstream::inline v0
