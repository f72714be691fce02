#pragma once

/// What can be decided while compiling: one traits type with named members, inherited from
/// `default_policies` and overridden one at a time.
///
///     struct policies : mds::default_policies {
///       using schema = mds::schema<mds::column<"text", mds::str>>;
///       using codec = mds::codec::zstd;
///     };

#include <mdstream/cache/options.hpp>
#include <mdstream/codec/codec.hpp>
#include <mdstream/codec/none.hpp>
#include <mdstream/collate/collator.hpp>
#include <mdstream/collate/ragged.hpp>
#include <mdstream/collate/transform.hpp>
#include <mdstream/core/observe.hpp>
#include <mdstream/format/schema.hpp>
#include <mdstream/hash/hash.hpp>
#include <mdstream/order/shuffle.hpp>
#include <mdstream/policies/detail/storage.hpp>
#include <mdstream/stage/host.hpp>
#include <mdstream/store/any_store.hpp>
#include <mdstream/store/local.hpp>

namespace mdstream::inline v0 {

/// No foreign files are read.
struct no_formats {};

/// The default policies, to inherit from. They need no further library.
struct default_policies {
  using schema = dynamic_schema;          ///< columns by name, when the program runs
  using store = any_store<store::local>;  ///< local paths
  using codec = any_codec<codec::none>;   ///< uncompressed shards
  using format = no_formats;              ///< MDS alone; see <mdstream/source/formats.hpp>
  using hash = any_hash<>;                ///< none beyond xxh64
  using shuffler = shuffle::any;          ///< by name, `loader_options::shuffle_algo`; default py1e
  using collator = collate::ragged;       ///< any columns
  using stager = stage::host;             ///< batches in host memory
  using transform = transform::none;      ///< samples are collated as they are
  using observer = observe::none;         ///< nothing is counted
};

namespace detail {

/// Checks every policy by its concept, so that a wrong one is named before anything else fails.
template <class Policies>
struct checked_policies : checked_codecs<Policies> {
  static_assert(
      schema_policy<typename Policies::schema>,
      "mdstream: policies::schema has to be a schema<column<...>, ...> or dynamic_schema");
  static_assert(openable_store<typename Policies::store>,
                "mdstream: policies::store has to model openable_store (mdstream/store/store.hpp)");
  static_assert(v0::shuffler<typename Policies::shuffler>,
                "mdstream: policies::shuffler has to model shuffler (mdstream/order/shuffler.hpp)");
  static_assert(collate::collator<typename Policies::collator>,
                "mdstream: policies::collator has to model collate::collator "
                "(mdstream/collate/collator.hpp)");
  static_assert(
      stage::stager<typename Policies::stager>,
      "mdstream: policies::stager has to model stage::stager (mdstream/stage/stager.hpp)");
  static_assert(
      transform_policy<typename Policies::transform, typename Policies::schema>,
      "mdstream: policies::transform has to be transform::none or to model sample_transform for "
      "samples of policies::schema (mdstream/collate/transform.hpp)");
  static_assert(observe::observer_policy<typename Policies::observer>,
                "mdstream: policies::observer has to be observe::none or to model "
                "observe::observer (mdstream/core/observe.hpp)");
};

}  // namespace detail

}  // namespace mdstream::inline v0
