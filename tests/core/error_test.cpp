#include <mdstream/core/error.hpp>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace mds = mdstream;

TEST_CASE("an error names what, where and the cause, one line a layer") {
  const mds::error e(mds::errc::corrupt, mds::diagnostics{.what = "offsets run backwards",
                                                          .stream = "c4",
                                                          .url = "/data/shard.00003.mds",
                                                          .shard = 3,
                                                          .sample = 17,
                                                          .byte = 72,
                                                          .cause = "short read"});
  CHECK(
      std::string(e.what()) ==
      "offsets run backwards (stream \"c4\", shard 3, sample 17, /data/shard.00003.mds, byte 72)\n"
      "  because: short read");
  CHECK(e.code() == mds::errc::corrupt);
  CHECK(e.code() != mds::errc::not_found);
}

TEST_CASE("system failures keep their meaning") {
  CHECK(mds::system_failure(ENOSPC, "cannot write", "/x").code() == mds::errc::no_space);
  CHECK(mds::system_failure(EDQUOT, "cannot write", "/x").code() == mds::errc::no_space);
  CHECK(mds::system_failure(ENOENT, "cannot open", "/x").code() == mds::errc::not_found);
  CHECK(mds::system_failure(EACCES, "cannot open", "/x").code() == mds::errc::permission_denied);
  CHECK(mds::system_failure(ENOMEM, "cannot open", "/x").code() == mds::errc::out_of_memory);
  CHECK(mds::system_failure(EIO, "cannot read", "/x").code() == mds::errc::io_error);
}

TEST_CASE("the code of any exception can be had") {
  CHECK(mds::code_of(std::make_exception_ptr(mds::error(mds::errc::canceled, "stopped"))) ==
        mds::errc::canceled);
  CHECK(mds::code_of(std::make_exception_ptr(std::bad_alloc())) == mds::errc::out_of_memory);
  CHECK(mds::code_of(std::make_exception_ptr(42)) == mds::errc::io_error);
  CHECK_FALSE(mds::code_of(nullptr));
}
