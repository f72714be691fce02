// The fuzz targets of foreign files.

#include <mdstream/raw/detail/npy.hpp>
#include <mdstream/raw/detail/scan_record.hpp>
#include <mdstream/raw/formats.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "fuzz/raw_run.hpp"
#include "fuzz/refusal.hpp"
#include "fuzz/targets.hpp"

namespace fuzz {

void row_index(std::string_view input) {
  allow_refusal([&] {
    const raw::detail::row_index index = raw::detail::row_index::parse(input);
    require(raw::detail::row_index::parse(index.dump()) == index);
  });
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

void scan_records(std::string_view input) {
  const raw::options about{.format = "jsonl"};
  const auto text_of = [&](const std::vector<raw::detail::scan_record>& records) {
    std::string text = raw::detail::scan_records_head(about);
    for (const auto& each : records) raw::detail::append_scan_record(text, each);
    return text;
  };
  allow_refusal([&] {
    const std::string head = raw::detail::scan_records_head(about);
    const std::string text =
        text_of(raw::detail::parse_scan_records(head + std::string(input), about));
    require(text_of(raw::detail::parse_scan_records(text, about)) == text);
  });
}

void npy(std::string_view input) {
  allow_refusal([&] {
    const auto array = raw::detail::parse_npy(mds::as_bytes(input));
    require(array.view().size() * mds::size_of(array.type) == array.values.size());
  });
}

}  // namespace fuzz
