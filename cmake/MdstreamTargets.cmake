# The library's targets: mdstream::mdstream needs Threads and Asio, each further component adds the libraries
# that MdstreamDependencies.cmake names, mdstream::full is all that were found.

set(MDSTREAM_COMPONENTS "" CACHE STRING
  "Components that have to be there, separated by commas, and no others: full, zstd, s3 ...; empty: what is found")

include(MdstreamDependencies)

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

# What MDSTREAM_COMPONENTS asks for.
string(REPLACE "," ";" mdstream_asked "${MDSTREAM_COMPONENTS}")
if("full" IN_LIST mdstream_asked)
  list(REMOVE_ITEM mdstream_asked full)
  list(APPEND mdstream_asked ${mdstream_full_components})
endif()
foreach(component IN LISTS mdstream_asked)
  if(NOT component IN_LIST mdstream_full_components AND NOT component IN_LIST mdstream_other_components)
    list(JOIN mdstream_full_components ", " names)
    list(JOIN mdstream_other_components ", " other_names)
    message(FATAL_ERROR "  MDSTREAM_COMPONENTS: there is no component ${component}; there are: full (${names}), ${other_names}")
  endif()
endforeach()

# The GPU's components add the CUDA runtime: the one that nvcc links into the program, by CMake's default the
# static one, because two of them would not know of each other. The programs of mdstream::full run without.
set(mdstream_cuda_runtime_target
  $<IF:$<STREQUAL:$<TARGET_PROPERTY:CUDA_RUNTIME_LIBRARY>,Shared>,CUDA::cudart,CUDA::cudart_static>)

set(mdstream_problems "")
mdstream_find(core)
if(mdstream_missing)
  list(APPEND mdstream_problems "mdstream needs ${mdstream_missing}")
endif()

# mdstream_component(NAME LIST): the target mdstream::NAME, appended to LIST, or one line about why it is left out.
# A header that is named after the component (codec/zstd.hpp) needs it.
macro(mdstream_component name list)
  set(mdstream_missing "not asked for")
  if(NOT mdstream_asked OR ${name} IN_LIST mdstream_asked)
    mdstream_find(${name})
    if(mdstream_missing AND mdstream_asked)
      list(APPEND mdstream_problems "component ${name} needs ${mdstream_missing}")
    elseif(mdstream_missing)
      message(STATUS "mdstream: component ${name} is left out, it needs ${mdstream_missing}")
    endif()
  endif()
  if(mdstream_missing)
    list(APPEND ${list}_left_out ${name})
  else()
    list(APPEND ${list} ${name})
    add_library(mdstream_${name} INTERFACE)
    add_library(mdstream::${name} ALIAS mdstream_${name})
    set_property(TARGET mdstream_${name} PROPERTY EXPORT_NAME ${name})
    target_link_libraries(mdstream_${name} INTERFACE mdstream)
    foreach(library IN LISTS mdstream_libraries_of_${name})
      if(library STREQUAL "cuda_runtime")
        target_link_libraries(mdstream_${name} INTERFACE ${mdstream_cuda_runtime_target})
      else()
        target_link_libraries(mdstream_${name} INTERFACE mdstream::${library})
      endif()
    endforeach()
  endif()
endmacro()

set(mdstream_components "")
set(mdstream_components_left_out "")
foreach(component IN LISTS mdstream_full_components)
  mdstream_component(${component} mdstream_components)
endforeach()
foreach(component IN LISTS mdstream_components)
  target_link_libraries(mdstream_full INTERFACE mdstream_${component})
endforeach()

# Components that are no part of mdstream::full.
set(mdstream_separate_components "")
foreach(component IN LISTS mdstream_other_components)
  mdstream_component(${component} mdstream_separate_components)
endforeach()

if(mdstream_problems)
  list(JOIN mdstream_problems "\n  " mdstream_problems)
  message(FATAL_ERROR "  ${mdstream_problems}")
endif()

include(MdstreamKernels)

set(mdstream_include_dir ${PROJECT_SOURCE_DIR}/include)
include(MdstreamCompiled)
mdstream_add_compiled(mdstream_compiled COMPONENTS ${mdstream_components})
add_library(mdstream::compiled ALIAS mdstream_compiled)
