# cmake -D PORT=… -D PACKAGES=… -D WORK=… -P run_port.cmake: executes the steps of the vcpkg port without vcpkg, each function
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
