@rem The shorter name of the same program.
@"%~dp0agentgateway-lock.exe" %*
