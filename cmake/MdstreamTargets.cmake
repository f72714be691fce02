# The library's targets: mdstream::mdstream needs Threads and Asio, each further component adds one
# dependency, mdstream::full is all that were found.

include(MdstreamDependencies)

mdstream_find(core)
if(mdstream_missing)
  message(FATAL_ERROR "mdstream: not found: ${mdstream_missing}")
endif()

add_library(mdstream INTERFACE)
add_library(mdstream::mdstream ALIAS mdstream)
target_compile_features(mdstream INTERFACE cxx_std_20)
target_include_directories(mdstream INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_link_libraries(mdstream INTERFACE Threads::Threads mdstream::asio_headers)

add_library(mdstream_full INTERFACE)
add_library(mdstream::full ALIAS mdstream_full)
set_property(TARGET mdstream_full PROPERTY EXPORT_NAME full)
target_link_libraries(mdstream_full INTERFACE mdstream)

set(mdstream_components "")
set(mdstream_components_left_out "")

# The target mdstream::NAME, which adds these libraries to mdstream::mdstream.
macro(mdstream_add_component name)
  add_library(mdstream_${name} INTERFACE)
  add_library(mdstream::${name} ALIAS mdstream_${name})
  set_property(TARGET mdstream_${name} PROPERTY EXPORT_NAME ${name})
  target_link_libraries(mdstream_${name} INTERFACE mdstream ${ARGN})
endmacro()

# mdstream_component(NAME LIBRARY...): mdstream::NAME, which adds these libraries to
# mdstream::mdstream, and is a part of mdstream::full. What they are found by stands in
# MdstreamDependencies.cmake as mdstream_find_NAME; where that finds nothing, the component is left out
# and one line says so.
# A header that is named after the component (codec/zstd.hpp) needs it.
macro(mdstream_component name)
  mdstream_find(${name})
  if(mdstream_missing)
    message(STATUS "mdstream: component ${name} is left out, not found: ${mdstream_missing}")
    list(APPEND mdstream_components_left_out ${name})
  else()
    list(APPEND mdstream_components ${name})
    mdstream_add_component(${name} ${ARGN})
    target_link_libraries(mdstream_full INTERFACE mdstream_${name})
  endif()
endmacro()

mdstream_component(zstd mdstream::zstd_library)
mdstream_component(gz mdstream::zlib_library)
mdstream_component(bz2 mdstream::bz2_library)
mdstream_component(br mdstream::brotlienc_library mdstream::brotlidec_library)
mdstream_component(snappy mdstream::snappy_library)
mdstream_component(xxhash mdstream::xxhash_headers)
mdstream_component(openssl mdstream::crypto_library)
mdstream_component(jpeg mdstream::jpeg_library)
mdstream_component(png mdstream::png_library)
mdstream_component(curl mdstream::curl_library)
mdstream_component(dbfs mdstream::curl_library)
mdstream_component(sftp mdstream::curl_library)
foreach(cloud IN ITEMS s3 azure gs oci hf)
  mdstream_component(${cloud} mdstream::curl_library mdstream::crypto_library)
endforeach()

# Components that are no part of mdstream::full: mdstream_separate_component(NAME HINT LIBRARY...).
set(mdstream_separate_components "")
macro(mdstream_separate_component name hint)
  mdstream_find(${name})
  if(mdstream_missing)
    message(STATUS "mdstream: component ${name} is left out, not found: ${mdstream_missing}${hint}")
  else()
    list(APPEND mdstream_separate_components ${name})
    mdstream_add_component(${name} ${ARGN})
  endif()
endmacro()

# Values of json columns as nlohmann::json, for interop/json.hpp.
mdstream_separate_component(json "" mdstream::nlohmann_headers)

# Parquet files, for raw/parquet.hpp: Arrow's C++ libraries, which Debian and Ubuntu have no packages of.
mdstream_separate_component(parquet " (tools/install-arrow.sh)" mdstream::arrow_library mdstream::parquet_library)

# The GPU's component, for stage/pinned.hpp and stage/cuda.hpp, adds the CUDA runtime: the one that nvcc
# links into the program, by CMake's default the static one, because two of them would not know of each
# other. The programs of mdstream::full run without.
set(mdstream_cuda_runtime
  $<IF:$<STREQUAL:$<TARGET_PROPERTY:CUDA_RUNTIME_LIBRARY>,Shared>,CUDA::cudart,CUDA::cudart_static>)
mdstream_separate_component(cuda "" ${mdstream_cuda_runtime})

# JPEG files decoded by the GPU's engines, for image/nvjpeg.hpp: nvJPEG, and libjpeg for what they do not
# take.
mdstream_separate_component(nvjpeg "" mdstream::nvjpeg_library mdstream::jpeg_library ${mdstream_cuda_runtime})
include(MdstreamKernels)

set(mdstream_include_dir ${PROJECT_SOURCE_DIR}/include)
include(MdstreamCompiled)
mdstream_add_compiled(mdstream_compiled COMPONENTS ${mdstream_components})
add_library(mdstream::compiled ALIAS mdstream_compiled)
