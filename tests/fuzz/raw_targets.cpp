// The fuzz targets of foreign files.

#include <mdstream/raw/formats.hpp>

#include <string_view>

#include "fuzz/raw_run.hpp"
#include "fuzz/targets.hpp"

namespace fuzz {

void row_index(std::string_view input) {
  try {
    const raw::detail::row_index index = raw::detail::row_index::parse(input);
    check(raw::detail::row_index::parse(index.dump()) == index);
  } catch (const mds::error&) {
  }
}

void raw_jsonl(std::string_view input) {
  run<raw::plain_formats>({.format = "jsonl"}, input);
  run<raw::plain_formats>({.format = "jsonl",
                           .columns = {{"text", "str"},
                                       {"n", "int8"},
                                       {"list", "ndarray:int32"},
                                       {"d", "json", "/a/0"}},
                           .null_value = "0",
                           .skip_bad = true},
                          input);
}

void raw_text(std::string_view input) {
  run<raw::plain_formats>({.format = "text"}, input);
  run<raw::plain_formats>({.format = "text", .unit = "paragraph"}, input);
}

void raw_csv(std::string_view input) {
  run<raw::plain_formats>({.format = "csv"}, input);
  run<raw::plain_formats>(
      {.format = "csv", .columns = {{"text", "str"}, {"n", "int"}}, .skip_bad = true}, input);
}

void raw_tar(std::string_view input) {
  run<raw::plain_formats>({.format = "webdataset"}, input);
  run<raw::plain_formats>(
      {.format = "webdataset", .columns = {{"npy", "ndarray"}, {"txt", "str"}}, .skip_bad = true},
      input);
}

void raw_tokens(std::string_view input) {
  if (input.size() < 4) return;
  const std::size_t size = mds::load<std::uint32_t>(mds::as_bytes(input).data());
  const std::string_view beside = input.substr(4, size);
  const std::string_view object = input.substr(4 + beside.size());
  run<raw::plain_formats>({.format = "tokens", .dtype = "uint16", .document_token = 50256}, object,
                          beside);
  run<raw::plain_formats>({.format = "tokens", .window = 5, .stride = 3, .dtype = "uint16"}, object,
                          beside);
}

}  // namespace fuzz
