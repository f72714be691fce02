#pragma once

/// What can be decided while compiling: a list of policies, in any order. Each is recognised by the
/// concept that it models, and has a default.
///
///     using policies = mds::policies<mds::schema<mds::column<"text", mds::str>>,
///                                    mds::codec::zstd, mds::shuffle::py1e>;

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
#include <mdstream/policies/detail/kind.hpp>
#include <mdstream/policies/detail/storage.hpp>
#include <mdstream/stage/host.hpp>
#include <mdstream/store/any_store.hpp>
#include <mdstream/store/local.hpp>

#include <concepts>
#include <type_traits>

namespace mdstream::inline v0 {

/// No foreign files are read.
struct no_formats {
  using is_format_list = void;  ///< what `policies` recognises it by
};

namespace detail {

template <class Kept, class More, class... Rest>
struct merged_policies;

}  // namespace detail

/// The policies of a loader, dataset or writer. The compiler refuses, by name, a type that models
/// the concept of no policy or of two, and two of one kind.
///
/// | policy | concept | default |
/// |---|---|---|
/// | schema | `schema<column<...>, ...>` or `dynamic_schema` | by name, when the program runs |
/// | store | `object_store`; `openable_store` to read | `any_store<store::local>`: local paths |
/// | codec | `codec_policy` | `any_codec<codec::none>`: uncompressed shards |
/// | format | `raw::any_format<...>`, see source/formats.hpp | `no_formats`: MDS alone |
/// | hash | `hash_policy` | `any_hash<>`: none beyond xxh64 |
/// | shuffler | `shuffler` | `shuffle::any`: `loader_options::shuffle_algo`, default py1e |
/// | collator | `collate::collator` | `collate::ragged`: any columns |
/// | stager | `stage::stager` | `stage::host`: batches in host memory |
/// | transform | `sample_transform` of the schema | `transform::none`: samples as they are |
/// | observer | `observe::observer` | `observe::none`: nothing is counted |
///
/// The defaults need no further library.
template <class... Policies>
struct policies {
  using schema = detail::policy_of<detail::policy_kind::schema, dynamic_schema, Policies...>;
  using store =
      detail::policy_of<detail::policy_kind::store, any_store<mdstream::store::local>, Policies...>;
  using codec =
      detail::policy_of<detail::policy_kind::codec, any_codec<mdstream::codec::none>, Policies...>;
  using format = detail::policy_of<detail::policy_kind::format, no_formats, Policies...>;
  using hash = detail::policy_of<detail::policy_kind::hash, any_hash<>, Policies...>;
  using shuffler = detail::policy_of<detail::policy_kind::shuffler, shuffle::any, Policies...>;
  using collator = detail::policy_of<detail::policy_kind::collator, collate::ragged, Policies...>;
  using stager = detail::policy_of<detail::policy_kind::stager, stage::host, Policies...>;
  using transform =
      detail::policy_of<detail::policy_kind::transform, mdstream::transform::none, Policies...>;
  using observer = detail::policy_of<detail::policy_kind::observer, observe::none, Policies...>;

  /// These with others of some kinds.
  ///
  ///     using validation = training::with<mds::transform::none>;
  template <class... Others>
  using with = typename detail::merged_policies<detail::policy_list<>,
                                                detail::policy_list<Others...>, Policies...>::type;
};

namespace detail {

template <class... Kept, class... More>
struct merged_policies<policy_list<Kept...>, policy_list<More...>> {
  using type = policies<More..., Kept...>;
};
template <class... Kept, class... More, class First, class... Rest>
struct merged_policies<policy_list<Kept...>, policy_list<More...>, First, Rest...>
    : merged_policies<
          std::conditional_t<((policy_in_pack<First>::kind == policy_in_pack<More>::kind) || ...),
                             policy_list<Kept...>, policy_list<Kept..., First>>,
          policy_list<More...>, Rest...> {};

template <class T>
inline constexpr bool is_policies = false;
template <class... Policies>
inline constexpr bool is_policies<policies<Policies...>> = true;

/// Refuses what is no `policies<...>`. Policies that only a writer takes are refused below.
template <class Policies>
struct checked_policies {
  static_assert(is_policies<Policies>,
                "mdstream: policies are a list, mds::policies<...>: the members of a struct of "
                "your own could be misspelt");
  static constexpr bool value = true;
};

/// The same for what reads.
template <class Policies>
struct checked_reading : checked_policies<Policies> {
  static_assert(
      openable_store<typename Policies::store>,
      "mdstream: the store of the policies has to model openable_store (store/store.hpp)");
  // Asserted by itself: of a concept in a disjunction g++ does not tell what is missing.
  static constexpr bool transforms = [] {
    using transform = typename Policies::transform;
    if constexpr (!std::same_as<transform, mdstream::transform::none>)
      static_assert(sample_transform<transform, typename Policies::schema>,
                    "mdstream: the transform of the policies has to model sample_transform for "
                    "samples of their schema (collate/transform.hpp)");
    return true;
  }();
  static_assert(transforms);
};

}  // namespace detail

}  // namespace mdstream::inline v0
