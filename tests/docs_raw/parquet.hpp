#pragma once

// What the example of Parquet in docs/raw.md has to find.

#include <mdstream/raw/parquet.hpp>

#include "docs_raw/page.hpp"

namespace docs_raw {

template <class Data>
void check_parquet(const Data& data, std::string_view text) {
  CHECK(data.size() == 25);
  CHECK(text.empty());
  const auto second = data[1];
  CHECK(second.template get<std::string_view>("string") == "plain");
}

}  // namespace docs_raw
