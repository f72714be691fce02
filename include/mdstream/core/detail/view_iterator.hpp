#pragma once

/// Iterators of views that have `operator[]` and `size()`.

#include <mdstream/version.hpp>

#include <compare>
#include <cstddef>
#include <iterator>
#include <utility>

namespace mdstream::inline v0::detail {

/// Walks a view by its `[]`. It holds a copy of the view, so that it may outlive it.
template <class View>
class view_iterator {
 public:
  using reference = decltype(std::declval<const View&>()[std::size_t{0}]);
  using value_type = reference;
  using difference_type = std::ptrdiff_t;
  using iterator_category = std::input_iterator_tag;  // `*i` is a value
  using iterator_concept = std::random_access_iterator_tag;

  view_iterator() = default;
  view_iterator(const View& view, std::size_t at) noexcept
      : view_(view), at_(static_cast<difference_type>(at)) {}

  reference operator*() const noexcept { return view_[static_cast<std::size_t>(at_)]; }
  reference operator[](difference_type n) const noexcept { return *(*this + n); }
  view_iterator& operator+=(difference_type n) noexcept {
    at_ += n;
    return *this;
  }
  view_iterator& operator-=(difference_type n) noexcept { return *this += -n; }
  view_iterator& operator++() noexcept { return *this += 1; }
  view_iterator& operator--() noexcept { return *this += -1; }
  view_iterator operator++(int) noexcept {
    const view_iterator old = *this;
    ++*this;
    return old;
  }
  view_iterator operator--(int) noexcept {
    const view_iterator old = *this;
    --*this;
    return old;
  }
  friend view_iterator operator+(view_iterator i, difference_type n) noexcept { return i += n; }
  friend view_iterator operator+(difference_type n, view_iterator i) noexcept { return i += n; }
  friend view_iterator operator-(view_iterator i, difference_type n) noexcept { return i -= n; }
  friend difference_type operator-(const view_iterator& a, const view_iterator& b) noexcept {
    return a.at_ - b.at_;
  }
  friend bool operator==(const view_iterator& a, const view_iterator& b) noexcept {
    return a.at_ == b.at_;
  }
  friend auto operator<=>(const view_iterator& a, const view_iterator& b) noexcept {
    return a.at_ <=> b.at_;
  }

 private:
  View view_{};
  difference_type at_ = 0;
};

}  // namespace mdstream::inline v0::detail
