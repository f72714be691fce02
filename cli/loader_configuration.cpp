#include "loader_configuration.hpp"

#include <concepts>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string_view>

namespace cli {

namespace {

/// A number that counts nothing: negative, or not whole.
struct no_count {};

using readers = std::map<std::string, std::function<void(const json&)>>;

// Calls for each member the reader of its name; names that have none, and values of a wrong type,
// are faults of the configuration. Null leaves the default.
void read_members(const json& object, const std::string& what, const readers& known) {
  if (!object.is_object()) throw usage_error(what + " has to be a JSON object");
  for (const auto& [key, value] : object.items()) {
    const auto reader = known.find(key);
    if (reader == known.end()) throw usage_error(what + " has no option \"" + key + '"');
    if (value.is_null()) continue;
    const auto refuse = [&] {
      return usage_error(what + ": option \"" + key + "\" cannot be " + value.dump());
    };
    try {
      reader->second(value);
    } catch (const json::exception&) {
      throw refuse();
    } catch (const no_count&) {
      throw refuse();
    }
  }
}

// The JSON library makes a count of any number.
template <class T>
T get_checked(const json& value) {
  if (std::unsigned_integral<T> && !std::same_as<T, bool> && value.is_number() &&
      !value.is_number_unsigned())
    throw no_count();
  return value.get<T>();
}
template <class T>
auto into(T& target) {
  return [&target](const json& value) { target = get_checked<T>(value); };
}
template <class T>
auto into(std::optional<T>& target) {
  return [&target](const json& value) { target = get_checked<T>(value); };
}
// Sizes and counts, as numbers or as texts such as "10gb" and "100k".
template <class Size>
auto sized(Size& target) {
  return [&target](const json& value) {
    target = value.is_string() ? Size(std::string_view(value.get_ref<const std::string&>()))
                               : Size(get_checked<std::uint64_t>(value));
  };
}
template <class Time>
auto seconds(Time& target) {
  return [&target](const json& value) {
    target = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::duration<double>(value.get<double>()));
  };
}
template <class T, class Parse>
auto named(T& target, Parse parse) {
  return [&target, parse](const json& value) {
    const auto found = parse(value.get<std::string>());
    if (!found) throw usage_error("there is no " + value.dump());
    target = *found;
  };
}

mds::raw::options raw_of(const json& given) {
  mds::raw::options out;
  read_members(given, "raw",
               {{"format", into(out.format)},
                {"files", into(out.files)},
                {"columns",
                 [&](const json& all) {
                   for (const json& each : all)
                     out.columns.push_back(mds::raw::parse_column(each.get<std::string>()));
                 }},
                {"null_value", [&](const json& value) { out.null_value = value.dump(); }},
                {"shard_bytes", sized(out.shard_bytes)},
                {"max_row_bytes", sized(out.max_row_bytes)},
                {"skip_bad", into(out.skip_bad)},
                {"delimiter", into(out.delimiter)},
                {"unit", into(out.unit)},
                {"window", into(out.window)},
                {"stride", into(out.stride)},
                {"dtype", into(out.dtype)},
                {"document_token", into(out.document_token)},
                {"document_token_last", into(out.document_token_last)}});
  return out;
}

mds::joined_dataset joined_of(const json& given) {
  mds::joined_dataset out;
  read_members(given, "a joined dataset",
               {{"remote", into(out.remote)}, {"split", into(out.split)}});
  return out;
}

// What a stream has, or the configuration for all streams, beside `own`.
template <class Options>
readers of_streams(Options& out, readers own) {
  own.merge(readers{{"remote", into(out.remote)},
                    {"local", into(out.local)},
                    {"split", into(out.split)},
                    {"download_retry", into(out.download_retry)},
                    {"download_timeout", seconds(out.download_timeout)},
                    {"patience", seconds(out.patience)},
                    {"validate_hash", into(out.validate_hash)},
                    {"keep_zip", into(out.keep_zip)},
                    {"allow_unsafe_types", into(out.allow_unsafe_types)}});
  return own;
}

mds::stream_options stream_of(const json& given) {
  mds::stream_options out;
  read_members(given, "a stream",
               of_streams(out, {{"raw", [&](const json& value) { out.raw = raw_of(value); }},
                                {"join",
                                 [&](const json& all) {
                                   for (const json& each : all) out.join.push_back(joined_of(each));
                                 }},
                                {"proportion", into(out.proportion)},
                                {"repeat", into(out.repeat)},
                                {"choose", into(out.choose)}}));
  return out;
}

loader_configuration configuration_of(const json& given) {
  loader_configuration out;
  mds::loader_options& o = out.options;
  o.shuffle = false;  // as in Python
  read_members(given, "the configuration",
               of_streams(o, {{"streams",
                               [&](const json& all) {
                                 for (const json& each : all) o.streams.push_back(stream_of(each));
                               }},
                              {"epoch_size", sized(o.epoch_size)},
                              {"predownload", into(o.predownload)},
                              {"cache_limit", sized(o.cache_limit)},
                              {"sampling_method", named(o.sampling, mds::parse_sampling_method)},
                              {"sampling_granularity", into(o.sampling_granularity)},
                              {"partition_algo", named(o.partition, mds::parse_partition_algo)},
                              {"num_canonical_nodes", into(o.num_canonical_nodes)},
                              {"batch_size", into(o.batch_size)},
                              {"global_batch_size", into(o.global_batch_size)},
                              {"shuffle", into(o.shuffle)},
                              {"shuffle_algo", into(o.shuffle_algo)},
                              {"shuffle_seed", into(o.seed)},
                              {"shuffle_block_size", into(o.shuffle_block_size)},
                              {"drop_last", into(o.drop_last)},
                              {"batching_method", named(o.batching, mds::parse_batching_method)},
                              {"replication", into(o.replication)},
                              {"num_workers", into(o.num_workers)},
                              {"threads", into(o.threads)},
                              {"epochs", into(out.epochs)}}));
  return out;
}

json parsed(const std::string& path) {
  try {
    return json::parse(text_of_file(path));
  } catch (const json::parse_error& e) {
    throw usage_error(path + " is no JSON: at byte " + std::to_string(e.byte));
  }
}

}  // namespace

std::string text_of_file(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    throw mds::error(mds::errc::invalid_argument,
                     {.what = "cannot read the file: it is a directory", .url = path});
  }
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (!file)
    throw mds::error(mds::errc::not_found, {.what = "the file cannot be read", .url = path});
  return text;
}

loader_configuration read_loader_configuration(
    const std::string& path, const std::optional<std::chrono::milliseconds>& patience) {
  loader_configuration out = configuration_of(parsed(path));
  if (patience) out.options.patience = *patience;
  return out;
}

}  // namespace cli
