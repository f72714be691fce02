#pragma once

/// What a program includes whose streams read foreign files. It names the formats in its policies:
///
///     using policies = mds::policies<mds::raw::plain_formats>;
///
/// Objects that are compressed need the codec among the policies as well.

#include <mdstream/raw/formats.hpp>
#include <mdstream/source/detail/open_source.hpp>
