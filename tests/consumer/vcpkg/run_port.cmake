# cmake -D PORT=… -D PACKAGES=… -D WORK=… -D WANTED=… -P run_port.cmake: executes the steps of the vcpkg port without vcpkg, each function
# doing here what vcpkg's own does for a library of headers, and checks the port's manifest.

set(CURRENT_PACKAGES_DIR ${PACKAGES})
file(REMOVE_RECURSE ${PACKAGES} ${WORK})

file(READ ${PORT}/vcpkg.json manifest)
string(JSON name GET "${manifest}" name)
string(JSON version GET "${manifest}" version)
file(STRINGS ${PORT}/../../../include/mdstream/version.hpp lines REGEX "#define MDSTREAM_VERSION_(MAJOR|MINOR|PATCH) ")
string(REGEX REPLACE "[^0-9;]" "" numbers "${lines}")
list(JOIN numbers "." expected)
if(NOT name STREQUAL "mdstream" OR NOT version STREQUAL expected)
  message(FATAL_ERROR "the port is of ${name} ${version}, the headers are of mdstream ${expected}")
endif()

# As vcpkg does: the features that are asked for, here those of a plain `vcpkg install mdstream` and those of WANTED.
string(JSON count LENGTH "${manifest}" default-features)
math(EXPR last "${count} - 1")
set(FEATURES core ${WANTED})
foreach(number RANGE ${last})
  string(JSON feature GET "${manifest}" default-features ${number})
  list(APPEND FEATURES ${feature})
endforeach()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(arg "" "SOURCE_PATH" "OPTIONS" ${ARGN})
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${WORK} -G Ninja -DCMAKE_BUILD_TYPE=Release
    ${arg_OPTIONS} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_cmake_install)
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${WORK} --prefix ${PACKAGES} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(arg "" "PACKAGE_NAME;CONFIG_PATH" "" ${ARGN})
  if(NOT EXISTS ${PACKAGES}/${arg_CONFIG_PATH}/${arg_PACKAGE_NAME}-config.cmake)
    message(FATAL_ERROR "no ${arg_PACKAGE_NAME}-config.cmake in ${arg_CONFIG_PATH}")
  endif()
  if(NOT arg_CONFIG_PATH STREQUAL "share/${arg_PACKAGE_NAME}")
    message(FATAL_ERROR "vcpkg wants the package in share/${arg_PACKAGE_NAME}")
  endif()
endfunction()

function(vcpkg_fixup_pkgconfig)
  file(GLOB files ${PACKAGES}/share/pkgconfig/*.pc)
  if(NOT files)
    message(FATAL_ERROR "no .pc files")
  endif()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(arg "" "" "FILE_LIST" ${ARGN})
  file(MAKE_DIRECTORY ${PACKAGES}/share/mdstream)
  file(COPY_FILE ${arg_FILE_LIST} ${PACKAGES}/share/mdstream/copyright)
endfunction()

include(${PORT}/portfile.cmake)

# The components are these features, whatever else this machine has.
file(GLOB installed RELATIVE ${PACKAGES}/share/pkgconfig ${PACKAGES}/share/pkgconfig/mdstream-*.pc)
list(TRANSFORM FEATURES REPLACE "(.+)" "mdstream-\\1.pc" OUTPUT_VARIABLE expected)
list(TRANSFORM expected REPLACE "mdstream-core" "mdstream-full")
list(SORT expected)
list(SORT installed)
if(NOT installed STREQUAL expected)
  message(FATAL_ERROR "the port installed ${installed}, and should have installed ${expected}")
endif()
