# An overlay port of the checkout that it lies in:
#   vcpkg install mdstream[s3,zstd] --overlay-ports=<checkout>/cmake/vcpkg

set(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../..")

# A feature is a component of the same name.
set(components ${FEATURES})
list(REMOVE_ITEM components core)
if(components)
  list(JOIN components "," components)
  set(components -DMDSTREAM_COMPONENTS=${components})
endif()

vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DMDSTREAM_TESTS=OFF -DMDSTREAM_CLI=OFF -DMDSTREAM_EXAMPLES=OFF -DMDSTREAM_BENCH=OFF ${components})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME mdstream CONFIG_PATH share/mdstream)
vcpkg_fixup_pkgconfig()

# Headers alone: nothing is built twice.
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
