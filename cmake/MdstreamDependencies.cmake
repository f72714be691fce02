# What mdstream and its components stand on, for this build and, installed beside the package, for a
# consumer's. tools/components.py writes the table of docs/install.md and the features of the vcpkg port
# from the two tables here.
#
# Debian's Asio, zstd and xxHash bring no CMake package, Asio not even a .pc file: libraries are found by
# header and library.

option(MDSTREAM_FETCH_DEPS "Download pinned versions of Asio, zstd, xxHash, libcurl and nlohmann/json where they are missing or too old" OFF)

# mdstream_library(NAME TITLE text HEADER header [LIBRARY name...] [OLDEST version] [VERSION_IN header regex] [ROOT variable]
#                  DEBIAN package FEDORA package VCPKG port [PKG_CONFIG module...]): a library that becomes the imported
# target mdstream::NAME. Its version is what the lines of VERSION_IN's header that match the regex end with,
# joined by dots. Headers without a LIBRARY are all there is. ROOT is a variable, of CMake or the environment,
# with a prefix to look into first. PKG_CONFIG are the names of its .pc files, where distributions agree about them.
macro(mdstream_library name)
  cmake_parse_arguments(mdstream_${name} "" "TITLE;HEADER;OLDEST;ROOT;DEBIAN;FEDORA;VCPKG;PKG_CONFIG" "LIBRARY;VERSION_IN" ${ARGN})
endmacro()

mdstream_library(asio_headers TITLE Asio HEADER asio.hpp OLDEST 1.18 VERSION_IN asio/version.hpp "define ASIO_VERSION "
  DEBIAN libasio-dev FEDORA asio-devel VCPKG asio)
mdstream_library(zstd_library TITLE libzstd HEADER zstd.h LIBRARY zstd OLDEST 1.4 VERSION_IN zstd.h "define ZSTD_VERSION_(MAJOR|MINOR) "
  DEBIAN libzstd-dev FEDORA libzstd-devel VCPKG zstd PKG_CONFIG libzstd)
mdstream_library(zlib_library TITLE zlib HEADER zlib.h LIBRARY z OLDEST 1.2
  DEBIAN zlib1g-dev FEDORA zlib-devel VCPKG zlib PKG_CONFIG zlib)
mdstream_library(bz2_library TITLE libbz2 HEADER bzlib.h LIBRARY bz2 OLDEST 1.0
  DEBIAN libbz2-dev FEDORA bzip2-devel VCPKG bzip2)
mdstream_library(brotlienc_library TITLE Brotli HEADER brotli/encode.h LIBRARY brotlienc OLDEST 1.0
  DEBIAN libbrotli-dev FEDORA brotli-devel VCPKG brotli PKG_CONFIG libbrotlienc)
mdstream_library(brotlidec_library TITLE Brotli HEADER brotli/decode.h LIBRARY brotlidec OLDEST 1.0
  DEBIAN libbrotli-dev FEDORA brotli-devel VCPKG brotli PKG_CONFIG libbrotlidec)
mdstream_library(snappy_library TITLE Snappy HEADER snappy-c.h LIBRARY snappy OLDEST 1.1
  DEBIAN libsnappy-dev FEDORA snappy-devel VCPKG snappy PKG_CONFIG snappy)
mdstream_library(xxhash_headers TITLE "xxHash's headers" HEADER xxhash.h OLDEST 0.8 VERSION_IN xxhash.h "define XXH_VERSION_(MAJOR|MINOR) "
  DEBIAN libxxhash-dev FEDORA xxhash-devel VCPKG xxhash PKG_CONFIG libxxhash)
mdstream_library(crypto_library TITLE "OpenSSL's libcrypto" HEADER openssl/evp.h LIBRARY crypto OLDEST 3.0
  VERSION_IN openssl/opensslv.h "define OPENSSL_VERSION_(MAJOR|MINOR) "
  DEBIAN libssl-dev FEDORA openssl-devel VCPKG openssl PKG_CONFIG libcrypto)
mdstream_library(curl_library TITLE libcurl HEADER curl/curl.h LIBRARY curl OLDEST 7.76 VERSION_IN curl/curlver.h "define LIBCURL_VERSION "
  DEBIAN libcurl4-openssl-dev FEDORA libcurl-devel VCPKG curl PKG_CONFIG libcurl)
mdstream_library(jpeg_library TITLE libjpeg HEADER jpeglib.h LIBRARY jpeg
  DEBIAN libjpeg-dev FEDORA libjpeg-turbo-devel VCPKG libjpeg-turbo PKG_CONFIG libjpeg)
mdstream_library(png_library TITLE libpng HEADER png.h LIBRARY png OLDEST 1.6
  DEBIAN libpng-dev FEDORA libpng-devel VCPKG libpng PKG_CONFIG libpng)
mdstream_library(nlohmann_headers TITLE "nlohmann/json's headers" HEADER nlohmann/json.hpp OLDEST 3
  DEBIAN nlohmann-json3-dev FEDORA json-devel VCPKG nlohmann-json PKG_CONFIG nlohmann_json)
# Debian and Ubuntu have no packages of Arrow; tools/install-arrow.sh installs it.
mdstream_library(arrow_library TITLE Arrow HEADER arrow/api.h LIBRARY arrow OLDEST 21 VERSION_IN arrow/util/config.h "define ARROW_VERSION_STRING "
  ROOT ARROW_ROOT DEBIAN "libarrow-dev (Apache's)" FEDORA libarrow-devel VCPKG arrow[parquet] PKG_CONFIG arrow)
mdstream_library(parquet_library TITLE "Arrow's Parquet" HEADER parquet/arrow/reader.h LIBRARY parquet
  ROOT ARROW_ROOT DEBIAN "libparquet-dev (Apache's)" FEDORA parquet-libs-devel VCPKG arrow[parquet] PKG_CONFIG parquet)
# A part of the CUDA toolkit, or apart from it; PyPI's package has the library under its version alone.
mdstream_library(nvjpeg_library TITLE nvJPEG HEADER nvjpeg.h LIBRARY nvjpeg libnvjpeg.so.13 libnvjpeg.so.12
  ROOT NVJPEG_ROOT DEBIAN "cuda-toolkit (NVIDIA's)" FEDORA "cuda-toolkit (NVIDIA's)" VCPKG cuda)
# Found by CMake's own FindCUDAToolkit.
mdstream_library(cuda_runtime TITLE "the CUDA runtime" OLDEST 12.4
  DEBIAN "cuda-toolkit (NVIDIA's)" FEDORA "cuda-toolkit (NVIDIA's)" VCPKG cuda)

# mdstream_needs(COMPONENT HEADER PURPOSE LIBRARY...): the libraries of a component, the header that users include and
# what it is for.
macro(mdstream_needs component header purpose)
  set(mdstream_header_of_${component} ${header})
  set(mdstream_libraries_of_${component} ${ARGN})
endmacro()

mdstream_needs(core mdstream.hpp "The library" asio_headers)
# mdstream::full is these.
mdstream_needs(zstd codec/zstd.hpp "Shards compressed with zstd" zstd_library)
mdstream_needs(gz codec/gz.hpp "Shards compressed with gzip" zlib_library)
mdstream_needs(bz2 codec/bz2.hpp "Shards compressed with bzip2" bz2_library)
mdstream_needs(br codec/br.hpp "Shards compressed with Brotli" brotlienc_library brotlidec_library)
mdstream_needs(snappy codec/snappy.hpp "Shards compressed with Snappy" snappy_library)
mdstream_needs(xxhash hash/xxhash.hpp "Hashes of the xxHash family" xxhash_headers)
mdstream_needs(openssl hash/openssl.hpp "SHA and BLAKE2 hashes" crypto_library)
mdstream_needs(jpeg image/jpeg.hpp "Pixels of jpeg columns" jpeg_library)
mdstream_needs(png image/png.hpp "Pixels of png columns" png_library)
mdstream_needs(curl store/http.hpp "Datasets on web servers" curl_library)
mdstream_needs(s3 store/s3.hpp "Datasets in S3" curl_library crypto_library)
mdstream_needs(azure store/azure.hpp "Datasets in Azure Blob Storage" curl_library crypto_library)
mdstream_needs(gs store/gs.hpp "Datasets in Google Cloud Storage" curl_library crypto_library)
mdstream_needs(oci store/oci.hpp "Datasets in OCI Object Storage" curl_library crypto_library)
mdstream_needs(dbfs store/dbfs.hpp "Datasets in Databricks" curl_library)
mdstream_needs(hf store/hf.hpp "Datasets on the Hugging Face Hub" curl_library crypto_library)
mdstream_needs(sftp store/sftp.hpp "Datasets on SFTP servers" curl_library)
set(mdstream_full_components zstd gz bz2 br snappy xxhash openssl jpeg png curl s3 azure gs oci dbfs hf sftp)
# These are no part of it.
mdstream_needs(json interop/json.hpp "Values of json columns as nlohmann::json" nlohmann_headers)
mdstream_needs(parquet raw/parquet.hpp "Parquet files as they are" arrow_library parquet_library)
mdstream_needs(cuda stage/cuda.hpp "Batches in the memory of a GPU" cuda_runtime)
mdstream_needs(nvjpeg image/nvjpeg.hpp "JPEG files decoded by a GPU" nvjpeg_library jpeg_library cuda_runtime)
set(mdstream_other_components json parquet cuda nvjpeg)

# mdstream_advice(NAME OUT HINT): what to do where a library is missing.
function(mdstream_advice name out hint)
  # Without semicolons: what is missing is gathered in lists.
  set(advice "Debian and Ubuntu: ${mdstream_${name}_DEBIAN}, Fedora and RHEL: ${mdstream_${name}_FEDORA}, vcpkg: ${mdstream_${name}_VCPKG}")
  if(COMMAND mdstream_fetch_${name} AND NOT MDSTREAM_FETCH_DEPS)
    string(APPEND advice ", or -DMDSTREAM_FETCH_DEPS=ON")
  endif()
  set(${out} "(${advice}, or ${hint})" PARENT_SCOPE)
endfunction()

# mdstream_find_library(NAME): the imported target mdstream::NAME. Sets mdstream_missing in the caller to what was not found,
# and what to install, or to "".
function(mdstream_find_library name)
  set(mdstream_missing "" PARENT_SCOPE)
  if(TARGET mdstream::${name})
    return()
  endif()
  string(TOUPPER MDSTREAM_${name} prefix)
  set(title "${mdstream_${name}_TITLE}")
  if(mdstream_${name}_OLDEST)
    string(APPEND title " ${mdstream_${name}_OLDEST} or newer")
  endif()
  set(hints "")
  if(mdstream_${name}_ROOT)
    set(hints ${${mdstream_${name}_ROOT}} $ENV{${mdstream_${name}_ROOT}} ${CUDAToolkit_TARGET_DIR} ${CUDAToolkit_LIBRARY_DIR})
  endif()
  find_path(${prefix}_INCLUDE_DIR ${mdstream_${name}_HEADER} HINTS ${hints} PATH_SUFFIXES include asio/include)
  mark_as_advanced(${prefix}_INCLUDE_DIR)
  set(missing "")
  if(NOT ${prefix}_INCLUDE_DIR)
    mdstream_advice(${name} advice "set ${prefix}_INCLUDE_DIR to the directory of <${mdstream_${name}_HEADER}>")
    set(missing "${title} ${advice}")
  elseif(mdstream_${name}_LIBRARY)
    find_library(${prefix}_LIBRARY NAMES ${mdstream_${name}_LIBRARY} HINTS ${hints} PATH_SUFFIXES lib64 lib)
    mark_as_advanced(${prefix}_LIBRARY)
    if(NOT ${prefix}_LIBRARY)
      mdstream_advice(${name} advice "set ${prefix}_LIBRARY to the path of lib${mdstream_${name}_LIBRARY}")
      set(missing "${title} ${advice}")
    endif()
  endif()
  if(NOT missing AND mdstream_${name}_VERSION_IN)
    mdstream_version_of(${name} ${${prefix}_INCLUDE_DIR} version)
    if(version AND version VERSION_LESS mdstream_${name}_OLDEST)
      mdstream_advice(${name} advice "set ${prefix}_INCLUDE_DIR and ${prefix}_LIBRARY to a newer one")
      set(missing "${title}, ${version} is in ${${prefix}_INCLUDE_DIR} ${advice}")
    endif()
  endif()
  if(missing AND MDSTREAM_FETCH_DEPS AND COMMAND mdstream_fetch_${name})
    message(STATUS "mdstream: fetches ${mdstream_${name}_TITLE}")
    cmake_language(CALL mdstream_fetch_${name})
    return()
  endif()
  set(mdstream_missing "${missing}" PARENT_SCOPE)
  if(missing)
    return()
  endif()
  # Global, because a package may be searched from any directory of a consumer's build.
  add_library(mdstream::${name} INTERFACE IMPORTED GLOBAL)
  target_include_directories(mdstream::${name} INTERFACE ${${prefix}_INCLUDE_DIR})
  if(mdstream_${name}_LIBRARY)
    mdstream_needs_of_static(${name} ${${prefix}_LIBRARY} needs)
    target_link_libraries(mdstream::${name} INTERFACE ${${prefix}_LIBRARY} ${needs})
  endif()
endfunction()

# mdstream_needs_of_static(NAME FILE OUT): what a static library, as vcpkg's are, needs in its turn: the .pc file beside it tells. Else "".
function(mdstream_needs_of_static name file out)
  set(${out} "" PARENT_SCOPE)
  cmake_path(GET file PARENT_PATH directory)
  set(module ${mdstream_${name}_PKG_CONFIG})
  if(NOT file MATCHES "\\.a$" OR NOT EXISTS ${directory}/pkgconfig/${module}.pc)
    return()
  endif()
  find_package(PkgConfig QUIET)
  if(NOT PKG_CONFIG_FOUND)
    message(WARNING "mdstream: ${file} is a static library; install pkg-config, which knows what it needs")
    return()
  endif()
  set(path $ENV{PKG_CONFIG_PATH})
  set(ENV{PKG_CONFIG_PATH} ${directory}/pkgconfig:${path})
  pkg_check_modules(MDSTREAM_${name} QUIET ${module})
  set(ENV{PKG_CONFIG_PATH} ${path})
  set(${out} ${MDSTREAM_${name}_STATIC_LDFLAGS} PARENT_SCOPE)
endfunction()

# mdstream_version_of(NAME DIRECTORY OUT): the version of the library's headers there, "" where they do not tell it.
function(mdstream_version_of name directory out)
  list(POP_FRONT mdstream_${name}_VERSION_IN header)
  set(numbers "")
  if(EXISTS ${directory}/${header})
    file(STRINGS ${directory}/${header} numbers REGEX "${mdstream_${name}_VERSION_IN}")
    list(TRANSFORM numbers REPLACE "^.*[^0-9.]([0-9.]+)[^0-9.]*$" "\\1")
  endif()
  list(JOIN numbers "." version)
  set(${out} "${version}" PARENT_SCOPE)
endfunction()

# mdstream_find(COMPONENT): finds its libraries. Sets mdstream_missing to what the component lacks here, or to "".
macro(mdstream_find component)
  set(mdstream_missing "")
  foreach(mdstream_needed IN LISTS mdstream_libraries_of_${component})
    if(mdstream_missing)
    elseif(mdstream_needed STREQUAL "cuda_runtime")
      mdstream_find_cuda_runtime()
    else()
      mdstream_find_library(${mdstream_needed})
    endif()
  endforeach()
  if(${component} STREQUAL "core" AND NOT mdstream_missing)
    set(THREADS_PREFER_PTHREAD_FLAG ON)
    find_package(Threads REQUIRED)
    set_property(TARGET mdstream::asio_headers PROPERTY INTERFACE_COMPILE_DEFINITIONS ASIO_STANDALONE)
  endif()
endmacro()

macro(mdstream_find_cuda_runtime)
  find_package(CUDAToolkit ${mdstream_cuda_runtime_OLDEST} QUIET)
  if(NOT TARGET CUDA::cudart OR NOT TARGET CUDA::cudart_static)
    mdstream_advice(cuda_runtime mdstream_cuda_advice "set CUDAToolkit_ROOT to the toolkit's directory")
    set(mdstream_missing "${mdstream_cuda_runtime_TITLE} ${mdstream_cuda_runtime_OLDEST} or newer ${mdstream_cuda_advice}")
  endif()
endmacro()

include(${CMAKE_CURRENT_LIST_DIR}/MdstreamFetch.cmake)
