# Runs PROGRAM in a new DIRECTORY and checks that what it says adds up: 63 batches of an epoch of 2,000 samples, and a state.
file(REMOVE_RECURSE ${DIRECTORY})
file(MAKE_DIRECTORY ${DIRECTORY})
execute_process(COMMAND ${PROGRAM} WORKING_DIRECTORY ${DIRECTORY} OUTPUT_VARIABLE said
                COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "batch [0-9]+ begins with token [0-9]+\n" batches "${said}")
list(LENGTH batches count)
if(NOT count EQUAL 63 OR NOT said MATCHES "\"sample_in_epoch\": 2000[,}]")
  message(FATAL_ERROR "the README's program said:\n${said}")
endif()
