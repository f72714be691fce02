# The program that every way of consuming builds: two translation units, and with FLAGS the options
# that break what is careless; with COMPILED the plain code is compiled once, for both.
add_executable(consumer ${CMAKE_CURRENT_LIST_DIR}/one.cpp ${CMAKE_CURRENT_LIST_DIR}/two.cpp)
target_link_libraries(consumer PRIVATE mdstream::mdstream mdstream::zstd $<$<BOOL:${COMPILED}>:mdstream::compiled>)
target_compile_options(consumer PRIVATE ${FLAGS})
