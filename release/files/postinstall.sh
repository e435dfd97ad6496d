#!/bin/sh
# Makes the user that the processor runs as. The service is started by hand, once
# it is told what to enforce.
set -e
if command -v systemd-sysusers >/dev/null 2>&1; then
	systemd-sysusers agentgateway-lock.conf
elif ! id agentgateway-lock >/dev/null 2>&1; then
	if command -v useradd >/dev/null 2>&1; then
		useradd --system --user-group --home-dir /var/lib/agentgateway-lock --no-create-home --shell /usr/sbin/nologin agentgateway-lock
	else
		addgroup -S agentgateway-lock
		adduser -S -D -H -h /var/lib/agentgateway-lock -s /sbin/nologin -G agentgateway-lock agentgateway-lock
	fi
fi
