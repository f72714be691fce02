# Runs PROGRAMS one after the other in DIRECTORY, which is empty before.
file(REMOVE_RECURSE ${DIRECTORY})
file(MAKE_DIRECTORY ${DIRECTORY})
foreach(program IN LISTS PROGRAMS)
  execute_process(COMMAND ${program} WORKING_DIRECTORY ${DIRECTORY} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
