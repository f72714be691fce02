# What mdstream and its components stand on, for this build and, installed beside the package, for a
# consumer's. Debian's Asio, zstd and xxHash bring no CMake package, Asio not even a .pc file: they
# are found by header and library.

# mdstream_import(NAME HEADER [LIBRARY]): an imported target mdstream::NAME for a header and, where
# given, the library behind it. Sets mdstream_missing in the caller to what was not found, or to "".
function(mdstream_import name header)
  set(mdstream_missing "" PARENT_SCOPE)
  if(TARGET mdstream::${name})
    return()
  endif()
  string(TOUPPER MDSTREAM_${name} prefix)
  find_path(${prefix}_INCLUDE_DIR ${header} PATH_SUFFIXES asio/include)
  mark_as_advanced(${prefix}_INCLUDE_DIR)
  if(NOT ${prefix}_INCLUDE_DIR)
    set(mdstream_missing "<${header}> (set ${prefix}_INCLUDE_DIR to its directory)" PARENT_SCOPE)
    return()
  endif()
  if(ARGC GREATER 2)
    find_library(${prefix}_LIBRARY ${ARGV2})
    mark_as_advanced(${prefix}_LIBRARY)
    if(NOT ${prefix}_LIBRARY)
      set(mdstream_missing "library ${ARGV2} (set ${prefix}_LIBRARY to its path)" PARENT_SCOPE)
      return()
    endif()
  endif()
  # Global, because a package may be searched from any directory of a consumer's build.
  add_library(mdstream::${name} INTERFACE IMPORTED GLOBAL)
  target_include_directories(mdstream::${name} INTERFACE ${${prefix}_INCLUDE_DIR})
  if(ARGC GREATER 2)
    target_link_libraries(mdstream::${name} INTERFACE ${${prefix}_LIBRARY})
  endif()
endfunction()

# One macro for each component: makes the imported targets that it links and sets mdstream_missing.

macro(mdstream_find_core)
  set(THREADS_PREFER_PTHREAD_FLAG ON)
  find_package(Threads REQUIRED)
  mdstream_import(asio_headers asio.hpp)
  if(NOT mdstream_missing)
    set_property(TARGET mdstream::asio_headers PROPERTY INTERFACE_COMPILE_DEFINITIONS ASIO_STANDALONE)
  endif()
endmacro()

macro(mdstream_find_zstd)
  mdstream_import(zstd_library zstd.h zstd)
endmacro()

macro(mdstream_find_gz)
  mdstream_import(zlib_library zlib.h z)
endmacro()

macro(mdstream_find_bz2)
  mdstream_import(bz2_library bzlib.h bz2)
endmacro()

macro(mdstream_find_br)
  mdstream_import(brotlienc_library brotli/encode.h brotlienc)
  if(NOT mdstream_missing)
    mdstream_import(brotlidec_library brotli/decode.h brotlidec)
  endif()
endmacro()

macro(mdstream_find_snappy)
  mdstream_import(snappy_library snappy-c.h snappy)
endmacro()

macro(mdstream_find_xxhash)
  mdstream_import(xxhash_headers xxhash.h)
endmacro()

macro(mdstream_find_openssl)
  mdstream_import(crypto_library openssl/evp.h crypto)
endmacro()

macro(mdstream_find_json)
  mdstream_import(nlohmann_headers nlohmann/json.hpp)
endmacro()

macro(mdstream_find_jpeg)
  mdstream_import(jpeg_library jpeglib.h jpeg)
endmacro()

macro(mdstream_find_png)
  mdstream_import(png_library png.h png)
endmacro()

# Arrow's C++ libraries: of the system, or where ARROW_ROOT, a variable or the environment's, says.
macro(mdstream_find_parquet)
  set(mdstream_arrow_hints ${ARROW_ROOT} $ENV{ARROW_ROOT})
  find_path(MDSTREAM_ARROW_LIBRARY_INCLUDE_DIR arrow/api.h HINTS ${mdstream_arrow_hints} PATH_SUFFIXES include)
  find_library(MDSTREAM_ARROW_LIBRARY_LIBRARY arrow HINTS ${mdstream_arrow_hints} PATH_SUFFIXES lib64 lib)
  find_path(MDSTREAM_PARQUET_LIBRARY_INCLUDE_DIR parquet/arrow/reader.h HINTS ${mdstream_arrow_hints} PATH_SUFFIXES include)
  find_library(MDSTREAM_PARQUET_LIBRARY_LIBRARY parquet HINTS ${mdstream_arrow_hints} PATH_SUFFIXES lib64 lib)
  mdstream_import(arrow_library arrow/api.h arrow)
  if(NOT mdstream_missing)
    mdstream_import(parquet_library parquet/arrow/reader.h parquet)
  endif()
endmacro()

macro(mdstream_find_curl)
  mdstream_import(curl_library curl/curl.h curl)
endmacro()

macro(mdstream_find_s3)
  mdstream_find_curl()
  if(NOT mdstream_missing)
    mdstream_find_openssl()
  endif()
endmacro()

macro(mdstream_find_hf)
  mdstream_find_s3()
endmacro()

macro(mdstream_find_dbfs)
  mdstream_find_curl()
endmacro()

macro(mdstream_find_sftp)
  mdstream_find_curl()
endmacro()

macro(mdstream_find_azure)
  mdstream_find_s3()
endmacro()

macro(mdstream_find_gs)
  mdstream_find_s3()
endmacro()

macro(mdstream_find_oci)
  mdstream_find_s3()
endmacro()

macro(mdstream_find_cuda)
  set(mdstream_missing "")
  find_package(CUDAToolkit 12.4 QUIET)
  if(NOT TARGET CUDA::cudart OR NOT TARGET CUDA::cudart_static)
    set(mdstream_missing "the CUDA toolkit, 12.4 or newer (set CUDAToolkit_ROOT to its directory)")
  endif()
endmacro()

# A part of the toolkit, or apart from it where NVJPEG_ROOT, a variable or the environment's, says; PyPI's
# package has the library under its version alone.
macro(mdstream_find_nvjpeg)
  mdstream_find_cuda()
  if(NOT mdstream_missing)
    mdstream_find_jpeg()
  endif()
  if(NOT mdstream_missing)
    set(mdstream_nvjpeg_hints ${NVJPEG_ROOT} $ENV{NVJPEG_ROOT} ${CUDAToolkit_TARGET_DIR})
    find_path(MDSTREAM_NVJPEG_LIBRARY_INCLUDE_DIR nvjpeg.h HINTS ${mdstream_nvjpeg_hints} PATH_SUFFIXES include)
    find_library(MDSTREAM_NVJPEG_LIBRARY_LIBRARY NAMES nvjpeg libnvjpeg.so.13 libnvjpeg.so.12
      HINTS ${mdstream_nvjpeg_hints} ${CUDAToolkit_LIBRARY_DIR} PATH_SUFFIXES lib64 lib)
    mdstream_import(nvjpeg_library nvjpeg.h nvjpeg)
  endif()
endmacro()

# mdstream_find(COMPONENT): sets mdstream_missing to what the component lacks here, or to "".
macro(mdstream_find component)
  cmake_language(CALL mdstream_find_${component})
endmacro()
