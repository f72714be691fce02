// The fuzz target of Parquet, whose plain code mdstream::compiled leaves out: few programs link
// Arrow.

#include <mdstream/raw/detail/impl/arrow_values.ipp>
#include <mdstream/raw/detail/impl/parquet.ipp>

#include <string_view>

#include "fuzz/raw_run.hpp"
#include "fuzz/targets.hpp"

namespace fuzz {

void raw_parquet(std::string_view input) {
  using formats = raw::any_format<raw::parquet>;
  run<formats>({.format = "parquet"}, input);
  run<formats>({.format = "parquet",
                .columns = {{"string", "json"}, {"int64", "int8"}, {"list", "ndarray:int32"}},
                .null_value = "0"},
               input);
}

}  // namespace fuzz
