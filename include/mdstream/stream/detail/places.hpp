#pragma once

/// Where the streams of a dataset come from and where their shards are kept. Pure: paths are
/// computed, no file is touched.

#include <string>
#include <vector>

namespace mdstream::inline v0::detail {

/// What a user said about one stream's place.
struct stream_request {
  std::string name{};
  std::string remote{};
  std::string local{};
  std::string split{};
  bool has_store = false;  ///< an opened store was given in place of the remote
  std::string reading{};   ///< how foreign files are read; empty: the remote is a dataset
};

/// What follows from it.
struct stream_place {
  std::string name{};       ///< for messages
  std::string remote{};     ///< empty: no remote, or an opened store
  std::string directory{};  ///< where index.json and the shards lie on this machine
  std::string split{};      ///< below the remote
};

struct dataset_places {
  std::vector<stream_place> streams{};
  std::string root{};  ///< the cache directory; empty where no stream has a remote
};

/// Settles the places of all streams. `local` is the loader's own option, `temporary` a directory
/// of this user alone, `working` the one that relative paths are below.
///
/// - A stream's own `local` is used as it is, with the split appended, as Python does.
/// - Without one, a stream lies in a directory of its own below `local`, or, where there is no
///   `local` either, below `temporary`. Its name tells remotes apart, also relative paths of
///   programs that run in different directories, and ways to read the files of one remote.
/// - The cache's root is `local`, or else the deepest directory that holds all streams with a
///   remote.
///
/// Throws `errc::invalid_argument` for a stream that names no place and for two streams in one
/// directory.
[[nodiscard]] dataset_places settle_places(const std::vector<stream_request>& requests,
                                           const std::string& local, const std::string& temporary,
                                           const std::string& working);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/places.ipp>
#endif
