-- Forget a game that is still at its version. KEYS as in commit.lua; ARGV 1 the version.
-- Returns 1 when it is gone (also when it was gone already: the script may be sent twice), 0 when it has moved on.

local stored = redis.call('GET', KEYS[1])
if stored and string.match(stored, '^%d+ (%d+) ') ~= ARGV[1] then
  return 0
end
redis.call('DEL', unpack(KEYS))
return 1
