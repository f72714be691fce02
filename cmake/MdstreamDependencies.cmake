# Finds what mdstream stands on, for this build and, as part of the installed package, for a
# consumer's. Debian's Asio and zstd bring neither a CMake package nor, in Asio's case, a .pc file.

include(CMakeFindDependencyMacro)
find_dependency(Threads)

# mdstream_import(NAME HEADER [LIBRARY]): an imported target mdstream::NAME for a header and,
# where given, the library behind it.
function(mdstream_import name header)
  if(TARGET mdstream::${name})
    return()
  endif()
  string(TOUPPER MDSTREAM_${name} prefix)
  find_path(${prefix}_INCLUDE_DIR ${header})
  mark_as_advanced(${prefix}_INCLUDE_DIR)
  if(NOT ${prefix}_INCLUDE_DIR)
    message(FATAL_ERROR "mdstream: <${header}> was not found; set ${prefix}_INCLUDE_DIR to its directory")
  endif()
  add_library(mdstream::${name} INTERFACE IMPORTED)
  target_include_directories(mdstream::${name} INTERFACE ${${prefix}_INCLUDE_DIR})
  if(ARGC GREATER 2)
    find_library(${prefix}_LIBRARY ${ARGV2})
    mark_as_advanced(${prefix}_LIBRARY)
    if(NOT ${prefix}_LIBRARY)
      message(FATAL_ERROR "mdstream: library ${ARGV2} was not found; set ${prefix}_LIBRARY to its path")
    endif()
    target_link_libraries(mdstream::${name} INTERFACE ${${prefix}_LIBRARY})
  endif()
endfunction()

mdstream_import(asio_headers asio.hpp)
target_compile_definitions(mdstream::asio_headers INTERFACE ASIO_STANDALONE)
mdstream_import(zstd_library zstd.h zstd)
mdstream_import(xxhash_headers xxhash.h)
