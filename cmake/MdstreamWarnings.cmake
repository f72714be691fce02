include_guard(GLOBAL)

# Our own builds treat warnings as errors; consumers see neither the flags nor the warnings.
add_library(mdstream_warnings INTERFACE)
target_compile_options(mdstream_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion $<$<BOOL:${MDSTREAM_WERROR}>:-Werror>)
