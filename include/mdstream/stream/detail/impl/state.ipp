#pragma once

#include <mdstream/core/detail/hex.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/stream/detail/bad_samples.hpp>
#include <mdstream/stream/state.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::uint64_t from_hex(const std::string& text, std::string_view key) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value, 16);
  if (failure != std::errc{} || stop != end)
    throw error(errc::corrupt, "\"" + std::string(key) + "\" is no fingerprint: \"" + text + '"');
  return value;
}

MDSTREAM_INLINE json::object python_members(const resume_point& at) {
  json::object out{{"epoch", at.epoch}};
  if (at.initial_physical_nodes)
    out.emplace_back("initial_physical_nodes", *at.initial_physical_nodes);
  out.emplace_back("num_canonical_nodes", at.num_canonical_nodes);
  out.emplace_back("sample_in_epoch", at.sample_in_epoch);
  out.emplace_back("shuffle_seed", at.shuffle_seed);
  return out;
}

MDSTREAM_INLINE json::object identity_members(const run_identity& id) {
  json::object out{{"version", state_version},
                   {"dataset", hex_digits(id.dataset)},
                   {"mix", hex_digits(id.mix)},
                   {"epoch_size", id.epoch_size},
                   {"global_batch_size", id.global_batch_size},
                   {"batching", id.batching},
                   {"sampling", id.sampling},
                   {"sampling_granularity", id.sampling_granularity},
                   {"shuffle", id.shuffle},
                   {"shuffle_block_size", id.shuffle_block_size}};
  if (id.source != 0) out.emplace_back("source", hex_digits(id.source));
  if (id.phase != 0) out.emplace_back("phase", id.phase);
  return out;
}

MDSTREAM_INLINE json::array numbers(const std::vector<std::uint32_t>& from) {
  json::array out;
  for (const std::uint32_t each : from) out.emplace_back(std::uint64_t{each});
  return out;
}

MDSTREAM_INLINE std::vector<std::uint32_t> parse_numbers(const json::value& from,
                                                         std::string_view key) {
  std::vector<std::uint32_t> out;
  for (const json::value& each : from.as<json::array>(key))
    out.push_back(each.as<std::uint32_t>(key));
  return out;
}

MDSTREAM_INLINE json::object bad_sample_members(const replaced_samples& of) {
  json::array first;
  for (const std::int64_t id : of.first) first.emplace_back(id);
  return {{"count", of.count}, {"first", std::move(first)}};
}

MDSTREAM_INLINE replaced_samples parse_bad_samples(const json::value& from) {
  replaced_samples out{.count = from.get<std::uint64_t>("count")};
  for (const json::value& each : from.get<json::array>("first"))
    out.first.push_back(each.as<std::int64_t>("first"));
  if (out.first.size() > std::min<std::uint64_t>(out.count, most_kept_bad_samples))
    throw error(errc::corrupt, "\"bad_samples\" of a state has " +
                                   std::to_string(out.first.size()) + " samples of " +
                                   std::to_string(out.count));
  return out;
}

MDSTREAM_INLINE run_identity parse_identity(const json::value& from) {
  if (const auto version = from.get<int>("version"); version != state_version)
    throw error(errc::unsupported, "a state of version " + std::to_string(version) +
                                       "; this program reads version " +
                                       std::to_string(state_version));
  return {.dataset = from_hex(from.get<std::string>("dataset"), "dataset"),
          .mix = from_hex(from.get<std::string>("mix"), "mix"),
          .epoch_size = from.get<std::uint64_t>("epoch_size"),
          .global_batch_size = from.get<std::uint64_t>("global_batch_size"),
          .batching = from.get<std::string>("batching"),
          .sampling = from.get<std::string>("sampling"),
          .sampling_granularity = from.get<std::uint64_t>("sampling_granularity"),
          .shuffle = from.get<std::string>("shuffle"),
          .shuffle_block_size = from.get<std::uint64_t>("shuffle_block_size"),
          .source = from.find("source") != nullptr
                        ? from_hex(from.get<std::string>("source"), "source")
                        : 0,
          .phase = from.find("phase") != nullptr ? from.get<std::uint64_t>("phase") : 0};
}

MDSTREAM_INLINE resume_point parse_resume_point(const json::value& from) {
  resume_point at{.epoch = from.get<std::int64_t>("epoch"),
                  .sample_in_epoch = from.get<std::uint64_t>("sample_in_epoch"),
                  .num_canonical_nodes = from.get<std::uint64_t>("num_canonical_nodes"),
                  .shuffle_seed = from.get<std::uint64_t>("shuffle_seed")};
  if (const json::value* nodes = from.find("initial_physical_nodes"); nodes && !nodes->is_null())
    at.initial_physical_nodes = nodes->as<std::uint64_t>("initial_physical_nodes");
  if (at.epoch < -1 || at.num_canonical_nodes == 0)
    throw error(errc::corrupt, "a state of epoch " + std::to_string(at.epoch) + " and " +
                                   std::to_string(at.num_canonical_nodes) + " canonical nodes");
  return at;
}

MDSTREAM_INLINE std::string state_text(const run_state& state) {
  json::object members = python_members(state.at);
  if (state.identity) {
    json::object own = identity_members(*state.identity);
    if (state.at.initial_ranks_per_node)
      own.emplace_back("initial_ranks_per_node", *state.at.initial_ranks_per_node);
    if (!state.substituted.empty()) own.emplace_back("substituted", numbers(state.substituted));
    if (state.bad_samples.count != 0)
      own.emplace_back("bad_samples", bad_sample_members(state.bad_samples));
    members.emplace_back("mdstream", std::move(own));
  }
  return json::dump(std::move(members), json::key_order::sorted);
}

MDSTREAM_INLINE void refuse_state(std::string what, std::string_view instead) {
  if (!instead.empty()) what += "; if that is meant, load it with accept::" + std::string(instead);
  throw error(errc::state_mismatch, std::move(what));
}

MDSTREAM_INLINE void state_differs(std::string_view field, const std::string& saved,
                                   const std::string& here, std::string_view instead) {
  refuse_state(
      "the state was saved with " + std::string(field) + ' ' + saved + ", this run has " + here,
      instead);
}

MDSTREAM_INLINE bool same_samples(const run_identity& a, const run_identity& b) noexcept {
  return a.dataset == b.dataset && a.source == b.source;
}

MDSTREAM_INLINE bool same_epochs(const run_identity& a, const run_identity& b) noexcept {
  return same_samples(a, b) && a.epoch_size == b.epoch_size && a.mix == b.mix &&
         a.batching == b.batching && a.sampling == b.sampling &&
         a.sampling_granularity == b.sampling_granularity;
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0 {

MDSTREAM_INLINE std::string to_text(const run_state& state) {
  std::string text = detail::state_text(state);
  if (text.size() >= detail::python_state_bytes && !state.bad_samples.first.empty()) {
    run_state shorter = state;  // without what is only told
    shorter.bad_samples.first.clear();
    text = detail::state_text(shorter);
  }
  if (text.size() >= detail::python_state_bytes)
    throw error(errc::unsupported,
                "a state of " + std::to_string(text.size()) + " bytes is longer than Python takes");
  return text;
}

MDSTREAM_INLINE run_state parse_state(std::string_view text) {
  const json::value state = json::parse(text, diagnostics{.url = "the saved state"});
  run_state out{.at = detail::parse_resume_point(state)};
  if (const json::value* own = state.find("mdstream")) {
    out.identity = detail::parse_identity(*own);
    if (own->find("initial_ranks_per_node") != nullptr)
      out.at.initial_ranks_per_node = own->get<std::uint64_t>("initial_ranks_per_node");
    if (const json::value* bad = own->find("substituted"))
      out.substituted = detail::parse_numbers(*bad, "substituted");
    if (const json::value* bad = own->find("bad_samples"))
      out.bad_samples = detail::parse_bad_samples(*bad);
  }
  return out;
}

MDSTREAM_INLINE void require_same_run(const run_identity& saved, const run_identity& here,
                                      accept accepted) {
  const auto require = [accepted](std::string_view field, const auto& a, const auto& b, auto&& text,
                                  accept by = accept::nothing, std::string_view instead = {}) {
    if (a == b || (by != accept::nothing && accepts(accepted, by))) return;
    detail::state_differs(field, text(a), text(b), instead);
  };
  const auto number = [](std::uint64_t x) { return std::to_string(x); };
  const auto quoted = [](const std::string& x) { return '"' + x + '"'; };
  if (!accepts(accepted, accept::dataset)) {
    const std::string sizes =
        saved.epoch_size == here.epoch_size
            ? " (an epoch has " + number(here.epoch_size) + " samples, as then)"
            : " (an epoch has " + number(here.epoch_size) + " samples, then it had " +
                  number(saved.epoch_size) + ')';
    if (saved.dataset != here.dataset)
      detail::refuse_state(
          "this run has another dataset than the one that saved the state: other shards, or "
          "another subset of them" +
              sizes,
          "dataset");
    if (saved.source != here.source)
      detail::refuse_state(
          "this run has other foreign files than the one that saved the state, or cuts them in "
          "another way" +
              sizes,
          "dataset");
  }
  require("phase", saved.phase, here.phase, number);
  // Of other samples, an epoch has other numbers of each stream.
  if (detail::same_samples(saved, here)) {
    require("epoch_size", saved.epoch_size, here.epoch_size, number, accept::mix, "mix");
    if (saved.mix != here.mix && !accepts(accepted, accept::mix))
      detail::refuse_state(
          "this run mixes the streams by other weights (proportion, repeat or choose) than the one "
          "that saved the state",
          "mix");
  }
  require("global_batch_size", saved.global_batch_size, here.global_batch_size, number,
          accept::global_batch_size, "global_batch_size");
  require("batching", saved.batching, here.batching, quoted, accept::mix, "mix");
  require("sampling", saved.sampling, here.sampling, quoted, accept::mix, "mix");
  require("sampling_granularity", saved.sampling_granularity, here.sampling_granularity, number,
          accept::mix, "mix");
  require("shuffle", saved.shuffle, here.shuffle, quoted);
  require("shuffle_block_size", saved.shuffle_block_size, here.shuffle_block_size, number);
}

}  // namespace mdstream::inline v0
