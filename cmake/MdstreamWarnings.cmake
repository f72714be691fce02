include_guard(GLOBAL)

# Our own builds treat warnings as errors; consumers see neither the flags nor the warnings. (Of clang -Wconversion asks for
# signs as well.)
add_library(mdstream_warnings INTERFACE)
target_compile_options(mdstream_warnings INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wno-sign-conversion;$<$<BOOL:${MDSTREAM_WERROR}>:-Werror>>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra;$<$<BOOL:${MDSTREAM_WERROR}>:SHELL:--Werror all-warnings>>")
