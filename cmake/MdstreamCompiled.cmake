# mdstream::compiled: the library's plain code as a static library of the build that links it, so that it is
# compiled once and not in every file that includes mdstream. Who links it has MDSTREAM_SEPARATE_COMPILATION
# defined, as has every file of the program that includes mdstream.

# mdstream_add_compiled(TARGET COMPONENTS name...): a static library of the plain code, with these components.
# It is built where something links it. Called once more for the same target, it adds components.
function(mdstream_add_compiled target)
  cmake_parse_arguments(arg "" "" "COMPONENTS" ${ARGN})
  if(NOT TARGET ${target})
    # One file for each part, so that several cores have work and none needs much memory.
    file(STRINGS ${mdstream_include_dir}/mdstream/src.hpp parts REGEX "MDSTREAM_SRC_PART == ")
    list(TRANSFORM parts REPLACE ".*MDSTREAM_SRC_PART == ([0-9]+).*" "\\1")
    set(units "")
    foreach(part IN LISTS parts)
      set(unit ${CMAKE_CURRENT_BINARY_DIR}/mdstream_compiled/${target}_${part}.cpp)
      file(CONFIGURE OUTPUT ${unit} CONTENT "#define MDSTREAM_SRC_PART ${part}\n#include <mdstream/src.hpp>\n" @ONLY)
      list(APPEND units ${unit})
    endforeach()
    add_library(${target} STATIC EXCLUDE_FROM_ALL ${units})
    target_link_libraries(${target} PUBLIC mdstream::mdstream)
    target_compile_definitions(${target} PUBLIC MDSTREAM_SEPARATE_COMPILATION)
    set_target_properties(${target} PROPERTIES UNITY_BUILD OFF POSITION_INDEPENDENT_CODE ON)
  endif()
  foreach(component IN LISTS arg_COMPONENTS)
    set(libraries ${component})
    if(component MATCHES "^(s3|azure|gs|oci|hf)$")
      set(libraries curl openssl)
    elseif(component MATCHES "^(dbfs|sftp)$")
      set(libraries curl)
    endif()
    foreach(library IN LISTS libraries)
      string(TOUPPER MDSTREAM_WITH_${library} definition)
      target_compile_definitions(${target} PRIVATE ${definition})
    endforeach()
    target_link_libraries(${target} PUBLIC mdstream::${component})
  endforeach()
endfunction()
