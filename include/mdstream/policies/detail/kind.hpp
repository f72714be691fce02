#pragma once

/// Which policy a type is: by the concept that it models.

#include <mdstream/codec/codec.hpp>
#include <mdstream/collate/collator.hpp>
#include <mdstream/collate/transform.hpp>
#include <mdstream/core/observe.hpp>
#include <mdstream/format/schema.hpp>
#include <mdstream/hash/hash.hpp>
#include <mdstream/order/shuffler.hpp>
#include <mdstream/stage/stager.hpp>
#include <mdstream/store/store.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace mdstream::inline v0::detail {

enum class policy_kind {
  schema,
  store,
  codec,
  format,
  hash,
  shuffler,
  collator,
  stager,
  transform,
  observer,
  none
};

template <class T>
concept format_list = requires { typename T::is_format_list; };

template <class T>
concept transform_policy = std::same_as<T, transform::none> || requires { typename T::output; };

/// In the order of `policy_kind`.
template <class T>
inline constexpr std::array<bool, static_cast<std::size_t>(policy_kind::none)> policy_concepts{
    schema_policy<T>,     object_store<T>,
    codec_policy<T>,      format_list<T>,
    hash_policy<T>,       shuffler<T>,
    collate::collator<T>, stage::stager<T>,
    transform_policy<T>,  observe::observer_policy<T>,
};

/// For a type that models no concept: that of the policy that it seems to be meant for is asserted,
/// so that the compiler tells what is missing.
template <class T>
constexpr policy_kind unknown_policy() {
  if constexpr (requires(const T& t, bytes_view in) { t.compress(in); })
    static_assert(codec_policy<T>,
                  "mdstream: policies<...>: a codec has to model codec_policy (codec/codec.hpp)");
  else if constexpr (requires(T& t, bytes_view in) { t.update(in); })
    static_assert(hash_policy<T>,
                  "mdstream: policies<...>: a hash has to model hash_policy (hash/hash.hpp)");
  else if constexpr (requires(const T& t, std::string_view key) { t.list(key); })
    static_assert(blocking_store<T>,
                  "mdstream: policies<...>: a store has to model object_store (store/store.hpp)");
  else if constexpr (requires { &T::async_list; })
    static_assert(async_store<T>,
                  "mdstream: policies<...>: an asynchronous store has to model async_store "
                  "(store/store.hpp)");
  else if constexpr (requires { &T::operator(); })
    static_assert(observe::observer<T>,
                  "mdstream: policies<...>: an observer has to model observe::observer "
                  "(core/observe.hpp); a transform has a schema `output`");
  else if constexpr (requires(const T& t) { t.name(); })
    static_assert(shuffler<T>,
                  "mdstream: policies<...>: a shuffler has to model shuffler (order/shuffler.hpp)");
  else if constexpr (requires(const collate::source_column& column) { T::accepts(column); })
    static_assert(collate::collator<T>,
                  "mdstream: policies<...>: a collator has to model collate::collator "
                  "(collate/collator.hpp)");
  else if constexpr (requires { typename T::slot; })
    static_assert(
        stage::stager<T>,
        "mdstream: policies<...>: a stager has to model stage::stager (stage/stager.hpp)");
  else
    static_assert(schema_policy<T>,
                  "mdstream: policies<...>: this type is no policy: it models none of "
                  "schema_policy, object_store, codec_policy, hash_policy, shuffler, "
                  "collate::collator, stage::stager and observe::observer, is no raw::any_format, "
                  "and has no `output` as a transform has");
  return policy_kind::none;
}

/// The first policy from `at` on whose concept a type models, in steps of `by`; `none` if there is
/// no such concept.
template <class T>
constexpr policy_kind next_kind(int at, int by) {
  constexpr auto models = policy_concepts<T>;
  while (at >= 0 && at < static_cast<int>(models.size()) && !models[static_cast<std::size_t>(at)])
    at += by;
  return at < 0 ? policy_kind::none : static_cast<policy_kind>(at);
}

/// Its arguments are what the compiler shows.
template <policy_kind First, policy_kind Second>
inline constexpr bool is_one_kind = First == Second;

/// A policy in a pack, and its kind. Its name and argument are what the compiler shows.
template <class Policy>
struct policy_in_pack {
  static_assert(std::same_as<Policy, std::remove_cv_t<Policy>>,
                "mdstream: policies<...>: a policy is named without const");
  static constexpr policy_kind first = next_kind<Policy>(0, 1);
  static_assert(is_one_kind<first, next_kind<Policy>(static_cast<int>(policy_kind::none) - 1, -1)>,
                "mdstream: policies<...>: this type models the concepts of two policies: which one "
                "is meant?");
  static constexpr policy_kind kind = [] {
    if constexpr (first == policy_kind::none)
      return unknown_policy<Policy>();
    else
      return first;
  }();
};

template <class...>
struct policy_list {};

/// The policies of a kind among `Rest`, behind those `Found` before.
template <policy_kind Kind, class Found, class... Rest>
struct policies_of_kind {
  using type = Found;
};
template <policy_kind Kind, class... Found, class First, class... Rest>
struct policies_of_kind<Kind, policy_list<Found...>, First, Rest...>
    : policies_of_kind<Kind,
                       std::conditional_t<policy_in_pack<First>::kind == Kind,
                                          policy_list<Found..., First>, policy_list<Found...>>,
                       Rest...> {};

template <class... Policies>
inline constexpr std::size_t policies_of_one_kind = sizeof...(Policies);

/// The one policy of a kind. Its arguments are what the compiler shows.
template <policy_kind Kind, class Default, class Found>
struct only_policy_of {
  using type = Default;
};
template <policy_kind Kind, class Default, class Found>
struct only_policy_of<Kind, Default, policy_list<Found>> {
  using type = Found;
};
template <policy_kind Kind, class Default, class First, class Second, class... More>
struct only_policy_of<Kind, Default, policy_list<First, Second, More...>> {
  using type = First;
  static_assert(policies_of_one_kind<First, Second, More...> == 1,
                "mdstream: policies<...>: two policies of one kind: which one is meant?");
};

template <policy_kind Kind, class Default, class... Policies>
using policy_of = typename only_policy_of<
    Kind, Default, typename policies_of_kind<Kind, policy_list<>, Policies...>::type>::type;

}  // namespace mdstream::inline v0::detail
