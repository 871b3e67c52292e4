-- Forget a game that is still at its version, and all that its requests have left behind.
--
-- KEYS  state, events, actions, metadata, the records of its requests, presence
-- ARGV  1 the version              2 channel to publish on
--       3 the mark of a gone game  4 how long it stays, seconds
-- Returns 1 when it is gone (also when it was gone already: the script may be sent twice), 0 when it has moved on.
--
-- If a request could come again, the mark stays in the state's place while its key is known: nothing follows a mark, so
-- a request that was held up cannot make the game once more.

local stored = redis.call('GET', KEYS[1])
if not stored or stored == ARGV[3] then
  return 1
end
if string.match(stored, '^%d+ (%d+) ') ~= ARGV[1] then
  return 0
end
local may_come_again = redis.call('EXISTS', KEYS[5]) == 1
redis.call('DEL', unpack(KEYS))
if may_come_again then
  redis.call('SET', KEYS[1], ARGV[3], 'EX', ARGV[4])
end
redis.call('PUBLISH', ARGV[2], ARGV[3])
return 1
