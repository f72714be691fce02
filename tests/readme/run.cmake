# Runs PROGRAM in a new DIRECTORY and checks that what it says adds up: ten batches of 32, then the
# other 1,680 of 2,000 samples.
file(REMOVE_RECURSE ${DIRECTORY})
file(MAKE_DIRECTORY ${DIRECTORY})
execute_process(COMMAND ${PROGRAM} WORKING_DIRECTORY ${DIRECTORY} OUTPUT_VARIABLE said
                COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "batch [0-9]+ begins" batches "${said}")
list(LENGTH batches count)
if(NOT count EQUAL 10 OR NOT said MATCHES "1680 samples were left of the epoch\n$")
  message(FATAL_ERROR "the README's program said:\n${said}")
endif()
