# The library's targets: mdstream::mdstream needs Threads and Asio, each further component adds one
# dependency, mdstream::full is all that were found.

include(MdstreamDependencies)

add_library(mdstream INTERFACE)
add_library(mdstream::mdstream ALIAS mdstream)
target_compile_features(mdstream INTERFACE cxx_std_20)
target_include_directories(mdstream INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_link_libraries(mdstream INTERFACE Threads::Threads mdstream::asio_headers)

add_library(mdstream_full INTERFACE)
add_library(mdstream::full ALIAS mdstream_full)
target_link_libraries(mdstream_full INTERFACE mdstream)

# mdstream_component(NAME LIBRARY...): mdstream::NAME, which adds these libraries to mdstream::mdstream.
function(mdstream_component name)
  add_library(mdstream_${name} INTERFACE)
  add_library(mdstream::${name} ALIAS mdstream_${name})
  target_link_libraries(mdstream_${name} INTERFACE mdstream ${ARGN})
  target_link_libraries(mdstream_full INTERFACE mdstream_${name})
endfunction()

mdstream_component(zstd mdstream::zstd_library)
mdstream_component(xxhash mdstream::xxhash_headers)
