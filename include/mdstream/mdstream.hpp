#pragma once

/// The library as far as it needs no other: loaders, datasets and writers over local paths, with
/// uncompressed shards and batches in host memory. Each further store, codec, hash and stager is an
/// include of its own, named in the policies; <mdstream/full.hpp> has them all.

#include <mdstream/batch.hpp>
#include <mdstream/collate/dense.hpp>
#include <mdstream/collate/none.hpp>
#include <mdstream/collate/packed.hpp>
#include <mdstream/collate/padded.hpp>
#include <mdstream/collate/ragged.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/sizes.hpp>
#include <mdstream/format/schema.hpp>
#include <mdstream/hash/choice.hpp>
#include <mdstream/policies.hpp>
#include <mdstream/stage/host.hpp>
#include <mdstream/store/memory.hpp>
#include <mdstream/stream/dataset.hpp>
#include <mdstream/stream/loader.hpp>
#include <mdstream/stream/open.hpp>
#include <mdstream/version.hpp>
#include <mdstream/writer/writer.hpp>
