# mdstream_cuda_20(TARGET SCOPE): C++20 for the target's .cu files. CMake before 3.26 does not know that
# nvcc has it.
function(mdstream_cuda_20 target scope)
  if("cuda_std_20" IN_LIST CMAKE_CUDA_COMPILE_FEATURES)
    target_compile_features(${target} ${scope} cuda_std_20)
  else()
    target_compile_options(${target} ${scope} $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>)
  endif()
endfunction()

# mdstream_add_kernels(TARGET [ARCHITECTURES arch...]): gives TARGET the kernels behind
# stage/cuda_collated.hpp, which nvcc compiles from one generated file. The project enables the language
# CUDA. The architectures are those of CMAKE_CUDA_ARCHITECTURES unless named: name what the machines
# have and one for PTX, as 80-real 90; CMake's own default is old.
function(mdstream_add_kernels target)
  cmake_parse_arguments(arg "" "" "ARCHITECTURES" ${ARGN})
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT CUDA IN_LIST languages)
    message(FATAL_ERROR "mdstream_add_kernels(${target}) needs the language CUDA: project(... LANGUAGES CXX CUDA)")
  endif()
  if(NOT TARGET mdstream::cuda)
    message(FATAL_ERROR "mdstream_add_kernels(${target}) needs mdstream::cuda: find_package(mdstream COMPONENTS cuda)")
  endif()
  if(NOT arg_ARCHITECTURES)
    set(arg_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES})
  endif()
  set(unit ${CMAKE_CURRENT_BINARY_DIR}/mdstream_kernels/${target}.cu)
  file(CONFIGURE OUTPUT ${unit} CONTENT "#include <mdstream/cuda/kernels_unit.cuh>\n")
  add_library(${target}_kernels STATIC ${unit})
  target_link_libraries(${target}_kernels PUBLIC mdstream::cuda)
  mdstream_cuda_20(${target}_kernels PUBLIC)
  set_property(TARGET ${target}_kernels PROPERTY CUDA_ARCHITECTURES ${arg_ARCHITECTURES})
  target_link_libraries(${target} PRIVATE ${target}_kernels)
endfunction()
