# Installs the headers, a CMake package with one target file for each component (so that a consumer
# needs only the libraries of those it asks for) and .pc files. All of it is relative to where it
# lies: the installed prefix may be moved.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_DATADIR}/mdstream)
set(pkgconfig_dir ${CMAKE_INSTALL_DATADIR}/pkgconfig)

install(DIRECTORY include/mdstream DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

function(mdstream_install_target target file)
  install(TARGETS ${target} EXPORT ${file})
  install(EXPORT ${file} NAMESPACE mdstream:: DESTINATION ${package_dir} FILE ${file}.cmake)
endfunction()

mdstream_install_target(mdstream mdstream-core)
mdstream_install_target(mdstream_full mdstream-full)
foreach(component IN LISTS mdstream_components mdstream_separate_components)
  mdstream_install_target(mdstream_${component} mdstream-${component})
endforeach()

configure_package_config_file(cmake/mdstream-config.cmake.in ${PROJECT_BINARY_DIR}/mdstream-config.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_INCLUDEDIR NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/mdstream-config-version.cmake
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/mdstream-config.cmake
  ${PROJECT_BINARY_DIR}/mdstream-config-version.cmake cmake/MdstreamDependencies.cmake cmake/MdstreamFetch.cmake
  cmake/MdstreamKernels.cmake cmake/MdstreamCompiled.cmake
  DESTINATION ${package_dir})

# mdstream_pkgconfig(NAME DESCRIPTION REQUIRES CFLAGS LIBS): NAME.pc, whose prefix is found from its own place.
function(mdstream_pkgconfig name description requires cflags libs)
  file(RELATIVE_PATH to_prefix /prefix/${pkgconfig_dir} /prefix)
  string(REGEX REPLACE "/$" "" to_prefix "${to_prefix}")
  configure_file(cmake/mdstream.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${pkgconfig_dir})
endfunction()

mdstream_pkgconfig(mdstream "${PROJECT_DESCRIPTION}" ""
  "-I\${includedir} -std=c++20 -DASIO_STANDALONE -pthread" "-pthread")
# The components; the CUDA toolkit's .pc files have its version in their names, so cuda and nvjpeg have none.
foreach(component IN LISTS mdstream_components mdstream_separate_components)
  if(component MATCHES "^(cuda|nvjpeg)$")
    continue()
  endif()
  set(requires "mdstream = ${PROJECT_VERSION}")
  set(libs "")
  foreach(library IN LISTS mdstream_libraries_of_${component})
    if(NOT mdstream_${library}_PKG_CONFIG)
      string(APPEND libs " -l${mdstream_${library}_LIBRARY}")
    elseif(mdstream_${library}_OLDEST)
      string(APPEND requires ", ${mdstream_${library}_PKG_CONFIG} >= ${mdstream_${library}_OLDEST}")
    else()
      string(APPEND requires ", ${mdstream_${library}_PKG_CONFIG}")
    endif()
  endforeach()
  mdstream_pkgconfig(mdstream-${component} "${PROJECT_DESCRIPTION}: component ${component}" "${requires}" "" "${libs}")
endforeach()
list(TRANSFORM mdstream_components PREPEND mdstream- OUTPUT_VARIABLE requires)
list(JOIN requires ", " requires)
mdstream_pkgconfig(mdstream-full "${PROJECT_DESCRIPTION}: all components but json, parquet, cuda and nvjpeg" "${requires}" "" "")
