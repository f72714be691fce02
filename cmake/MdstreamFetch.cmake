# MDSTREAM_FETCH_DEPS: pinned versions of the libraries that distributions have too old or not at all, by CMake's
# FetchContent. Where there is no network, FETCHCONTENT_SOURCE_DIR_MDSTREAM_<NAME> names a directory with the
# library's sources, as ever with FetchContent: ASIO, ZSTD, XXHASH, CURL, JSON. What is fetched is built as a static
# library and not installed: a project that finds an installed mdstream fetches by the same option.

# mdstream_fetch_sources(NAME URL SHA256 OUT): the unpacked archive.
function(mdstream_fetch_sources name url sha256 out)
  include(FetchContent)
  if(POLICY CMP0135)
    cmake_policy(SET CMP0135 NEW)  # unpacked files are as new as their download
  endif()
  # A directory that is not there: the archive's own CMakeLists.txt, where it has one, is not added here.
  FetchContent_Declare(mdstream_${name} URL ${url} URL_HASH SHA256=${sha256} SOURCE_SUBDIR not-added)
  FetchContent_MakeAvailable(mdstream_${name})
  set(${out} ${mdstream_${name}_SOURCE_DIR} PARENT_SCOPE)
endfunction()

# mdstream_fetched(NAME DIRECTORY [TARGET]): mdstream::NAME of headers in DIRECTORY and the target that was built.
function(mdstream_fetched name directory)
  if(NOT EXISTS ${directory}/${mdstream_${name}_HEADER})
    message(FATAL_ERROR "mdstream: no ${mdstream_${name}_HEADER} in ${directory}, where ${mdstream_${name}_TITLE} was to be fetched to")
  endif()
  add_library(mdstream::${name} INTERFACE IMPORTED GLOBAL)
  target_include_directories(mdstream::${name} INTERFACE ${directory})
  target_link_libraries(mdstream::${name} INTERFACE ${ARGN})
endfunction()

function(mdstream_fetch_asio_headers)
  mdstream_fetch_sources(asio https://github.com/chriskohlhoff/asio/archive/refs/tags/asio-1-30-2.tar.gz
    755bd7f85a4b269c67ae0ea254907c078d408cce8e1a352ad2ed664d233780e8 sources)
  mdstream_fetched(asio_headers ${sources}/asio/include)
endfunction()

function(mdstream_fetch_xxhash_headers)
  mdstream_fetch_sources(xxhash https://github.com/Cyan4973/xxHash/archive/refs/tags/v0.8.3.tar.gz
    aae608dfe8213dfd05d909a57718ef82f30722c392344583d3f39050c7f29a80 sources)
  mdstream_fetched(xxhash_headers ${sources})
endfunction()

function(mdstream_fetch_nlohmann_headers)
  mdstream_fetch_sources(json https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz
    d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d sources)
  mdstream_fetched(nlohmann_headers ${sources}/include)
endfunction()

# Options of the projects below are variables of the function that adds them, which neither option() nor set(... CACHE) there overrides.
set(mdstream_fetch_settings
  CMAKE_POLICY_DEFAULT_CMP0077=NEW CMAKE_POLICY_DEFAULT_CMP0126=NEW
  CMAKE_POSITION_INDEPENDENT_CODE=ON CMAKE_MESSAGE_LOG_LEVEL=WARNING BUILD_TESTING=OFF)

# mdstream_add_fetched(NAME DIRECTORY OPTION=value...): the CMake project in DIRECTORY. It installs nothing.
function(mdstream_add_fetched name directory)
  foreach(setting IN LISTS mdstream_fetch_settings ARGN)
    string(REGEX MATCH "^[^=]+" variable ${setting})
    string(REGEX REPLACE "^[^=]+=" "" ${variable} ${setting})
  endforeach()
  add_subdirectory(${directory} ${CMAKE_BINARY_DIR}/_deps/mdstream_${name}-build EXCLUDE_FROM_ALL)
endfunction()

function(mdstream_fetch_zstd_library)
  mdstream_fetch_sources(zstd https://github.com/facebook/zstd/archive/refs/tags/v1.5.6.tar.gz
    30f35f71c1203369dc979ecde0400ffea93c27391bfd2ac5a9715d2173d92ff7 sources)
  mdstream_add_fetched(zstd ${sources}/build/cmake ZSTD_BUILD_PROGRAMS=OFF ZSTD_BUILD_SHARED=OFF ZSTD_BUILD_TESTS=OFF
    ZSTD_LEGACY_SUPPORT=OFF)
  mdstream_fetched(zstd_library ${sources}/lib libzstd_static)
endfunction()

# HTTP and HTTPS, over OpenSSL; no SFTP.
function(mdstream_fetch_curl_library)
  mdstream_fetch_sources(curl https://github.com/curl/curl/archive/refs/tags/curl-8_12_1.tar.gz
    6edc063d1ebaf9cf3b3b46e9fef2f3cd8932694989ecd43d005d6e828426d09f sources)
  mdstream_add_fetched(curl ${sources} BUILD_CURL_EXE=OFF BUILD_SHARED_LIBS=OFF BUILD_STATIC_LIBS=ON CURL_DISABLE_INSTALL=ON
    HTTP_ONLY=ON CURL_USE_OPENSSL=ON CURL_USE_LIBPSL=OFF CURL_USE_LIBSSH2=OFF USE_NGHTTP2=OFF USE_LIBIDN2=OFF CURL_ZLIB=OFF
    CURL_BROTLI=OFF CURL_ZSTD=OFF ENABLE_CURL_MANUAL=OFF BUILD_LIBCURL_DOCS=OFF BUILD_MISC_DOCS=OFF)
  mdstream_fetched(curl_library ${sources}/include libcurl_static)
endfunction()
