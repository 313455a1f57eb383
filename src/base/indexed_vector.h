// Vectors and spans whose elements are found by one kind of number.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace shunt {

/// The numbers from `first` to one before `end`, for a loop.
template <class Index>
class IndexRange {
 public:
  class Iterator {
   public:
    constexpr explicit Iterator(Index at) : at_(at) {}
    constexpr Index operator*() const { return at_; }
    constexpr Iterator& operator++() {
      ++at_;
      return *this;
    }
    constexpr bool operator==(const Iterator&) const = default;

   private:
    Index at_;
  };

  constexpr IndexRange(Index first, Index end) : first_(first), end_(end < first ? first : end) {}
  constexpr Iterator begin() const { return Iterator(first_); }
  constexpr Iterator end() const { return Iterator(end_); }
  constexpr Index size() const { return end_ - first_; }

 private:
  Index first_;
  Index end_;
};

/// A vector that is indexed by `Index`, an integer type, and by no other: a number of another kind
/// does not compile.
template <class Index, class T>
class IndexedVector : public std::vector<T> {
 public:
  using Base = std::vector<T>;
  using Base::Base;
  IndexedVector() = default;
  IndexedVector(Base all) : Base(std::move(all)) {}

  typename Base::reference operator[](Index index) {
    return Base::operator[](static_cast<std::size_t>(index));
  }
  typename Base::const_reference operator[](Index index) const {
    return Base::operator[](static_cast<std::size_t>(index));
  }
  template <class Other>
  void operator[](Other) const = delete;
};

/// The same for a span.
template <class Index, class T>
class IndexedSpan : public std::span<T> {
 public:
  using Base = std::span<T>;
  using Base::Base;
  IndexedSpan() = default;
  IndexedSpan(Base all) : Base(all) {}  // a base's copy constructor is not inherited

  T& operator[](Index index) const { return Base::operator[](static_cast<std::size_t>(index)); }
  template <class Other>
  void operator[](Other) const = delete;
};

}  // namespace shunt
